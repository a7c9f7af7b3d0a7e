/**
 * npm run soak:edits [-- --scripts 500 --seed 0]: random edit scripts on the built-in model. Ends with code 1 at the first answer
 * that is not the one of the same request alone and cold.
 */
import { parseArgs } from 'node:util';
import { noEditCounts, SproutEdits } from '../test/engine/generation/scheduler/sprout_edits';

const REPORT_EVERY = 50;

async function soak(scripts: number, firstSeed: number): Promise<void> {
  const edits = await SproutEdits.start();
  const counts = noEditCounts();
  for (let done = 0; done < scripts; done++) {
    await edits.run(firstSeed + done, counts);
    if ((done + 1) % REPORT_EVERY === 0) console.error(`${done + 1} scripts`);
  }
  edits.dispose();
  console.log(JSON.stringify({ scripts, ...counts }));
}

const { values } = parseArgs({
  options: {
    scripts: { type: 'string', default: '500' },
    seed: { type: 'string', default: '0' },
  },
});
soak(Number(values.scripts), Number(values.seed)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
