/** A host that starts an engine child, lets it begin an answer, and then waits to be killed. */
import { startProcess } from '../../../extension/host/engine/process';
import { requestAt } from '../completion/marked';
import { SETTINGS, TSX, unheard } from './child';

const script = new URL('./fake_engine.ts', import.meta.url).pathname;
async function main(): Promise<void> {
  const link = await startProcess(
    {
      script,
      settings: { ...SETTINGS, modelDir: 'a text that takes half a minute@1000' },
      execArgv: TSX,
    },
    unheard,
  );
  const onPartial = (): void => void process.stdout.write(`${link.pid}\n`);
  await link.call('complete', requestAt('▮'), { onPartial });
}

void main();
