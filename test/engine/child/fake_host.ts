/** A host that starts an engine child, lets it begin an answer, and then waits to be killed. */
import { DEFAULT_FEATURES } from '../../../extension/protocol/engine';
import { startProcess } from '../../../extension/host/engine/process';
import { requestAt } from '../completion/marked';

const script = new URL('./fake_engine.ts', import.meta.url).pathname;
async function main(): Promise<void> {
  const link = await startProcess(
    {
      script,
      settings: {
        modelDir: 'a text that takes half a minute@1000',
        chatModelDir: '',
        chatContextLength: 0,
        backend: 'auto',
        threads: 0,
        contextLength: 0,
        batchSize: 0,
        prefillStep: 0,
        sessionCache: 0,
        draftModelDir: '',
        kvBits: 16,
        idleMinutes: 0,
        features: DEFAULT_FEATURES,
        remote: null,
      },
      execArgv: ['--import', 'tsx'],
    },
    {
      onStatus: () => undefined,
      onChatStatus: () => undefined,
      onLog: () => undefined,
      onExit: () => undefined,
    },
  );
  const onPartial = (): void => void process.stdout.write(`${link.pid}\n`);
  await link.call('complete', requestAt('▮'), { onPartial });
}

void main();
