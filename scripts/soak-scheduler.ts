/**
 * Runs random sessions against the scheduler for a while: long ones on one scheduler each, with aborts and failing steps
 * in two of three. Ends with code 1 at the first wrong answer, lost block, or when memory grows.
 * usage: node --import tsx --expose-gc scripts/soak-scheduler.ts [--minutes 5] [--seed 1000]
 */
import { parseArgs } from 'node:util';
import { noCounts, runSession } from '../test/engine/generation/scheduler/session';

const ROUNDS = 200;
/** Heap after the warm-up and at the end; the sessions themselves keep nothing. */
const MAX_GROWTH_MB = 20;
const WARM_UP_SESSIONS = 5;

async function soak(minutes: number, firstSeed: number): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const counts = noCounts();
  let baseline = Infinity;
  let sessions = 0;
  for (; performance.now() < end; sessions++) {
    const seed = firstSeed + sessions;
    const isCalm = sessions % 3 === 0;
    try {
      await runSession(
        seed,
        { rounds: ROUNDS, abortChance: isCalm ? 0 : 0.4, failChance: isCalm ? 0 : 0.005 },
        counts,
      );
    } catch (cause) {
      throw new Error(`the session with seed ${seed} went wrong`, { cause });
    }
    if (sessions === WARM_UP_SESSIONS) baseline = heapMb();
    console.error(`session ${seed}: heap ${heapMb().toFixed(1)} MB, ${JSON.stringify(counts)}`);
  }
  const growth = heapMb() - baseline;
  if (growth > MAX_GROWTH_MB) {
    throw new Error(`the heap grew by ${growth.toFixed(1)} MB, at most ${MAX_GROWTH_MB} expected`);
  }
  console.log(JSON.stringify({ sessions, ...counts }));
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1000' },
  },
});
soak(Number(values.minutes), Number(values.seed)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
