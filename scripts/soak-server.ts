/**
 * Many clients of the server that go away at random bytes. Ends with code 1 when an answer or a block is left behind, or
 * memory grows. usage: node --import tsx --expose-gc scripts/soak-server.ts [--clients 10000] [--seed 1]
 */
import { parseArgs } from 'node:util';
import { startDisconnects } from '../test/engine/server/disconnects';

const AT_ONCE = 16;
const CHECK_EVERY = 50;
/** Of the resident memory after the warm-up. */
const MAX_GROWTH = 0.05;
const WARM_UP = 0.2;

async function soak(clients: number, seed: number): Promise<void> {
  const lab = await startDisconnects(seed);
  const started = performance.now();
  let baseline = 0;
  for (let done = 0, round = 0; done < clients; done += AT_ONCE, round++) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => lab.leave()));
    // The lab keeps the log for tests.
    lab.lab.log.length = 0;
    const isWarmNow = baseline === 0 && done >= clients * WARM_UP;
    if (round % CHECK_EVERY !== 0 && !isWarmNow) continue;
    await lab.assertIdle();
    if (isWarmNow) baseline = residentMb();
    console.error(`${done} clients, ${residentMb().toFixed(1)} MB`);
  }
  await lab.assertIdle();
  const growth = residentMb() / baseline - 1;
  console.log(
    JSON.stringify({
      clients,
      seconds: Math.round((performance.now() - started) / 1000),
      baselineMb: Math.round(baseline),
      growth: Number(growth.toFixed(4)),
    }),
  );
  await lab.close();
  if (growth > MAX_GROWTH) throw new Error(`memory grew by ${(growth * 100).toFixed(1)} %`);
}

function residentMb(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 2 ** 20;
}

const { values } = parseArgs({
  options: { clients: { type: 'string' }, seed: { type: 'string' } },
});
soak(Number(values.clients ?? 10_000), Number(values.seed ?? 1)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
