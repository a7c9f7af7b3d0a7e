import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noCounts, runSession } from './session';

const SESSIONS = 500;

test('batched, cached, preempted and evicted answers equal cold ones token for token', async () => {
  const counts = noCounts();
  for (let seed = 0; seed < SESSIONS; seed++) {
    try {
      await runSession(seed, { rounds: 2, abortChance: 0, failChance: 0 }, counts);
    } catch (error) {
      throw new Error(`session ${seed}`, { cause: error });
    }
  }
  // Otherwise the sessions would not test what they are for.
  for (const name of [
    'hits',
    'batchedSteps',
    'preemptions',
    'evictedBlocks',
    'interruptedSteps',
    'accepted',
    'recurrentHits',
  ] as const) {
    assert.ok(counts[name] > 10, `${name}: ${counts[name]}`);
  }
  assert.ok(counts.drafted > counts.accepted + 10, 'no draft was wrong');
  assert.equal(counts.failed + counts.cancelled, 0);
});

test('aborts and failed steps at random points end their requests and leave the others as they were', async () => {
  const counts = noCounts();
  for (let seed = SESSIONS; seed < SESSIONS + 200; seed++) {
    try {
      await runSession(seed, { rounds: 2, abortChance: 0.4, failChance: 0.01 }, counts);
    } catch (error) {
      throw new Error(`session ${seed}`, { cause: error });
    }
  }
  assert.ok(counts.cancelled > 100 && counts.failed > 50, JSON.stringify(counts));
});
