import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  MIN_CHUNK,
  PATIENCE_MS,
  RELAXED_MS,
  SLICE_MS,
} from '../../../../extension/engine/generation/scheduler/limits';
import {
  planStep,
  type Plannable,
  type PlanLimits,
} from '../../../../extension/engine/generation/scheduler/plan';
import { StepCost } from '../../../../extension/engine/generation/scheduler/step_cost';
import { PRIORITIES } from '../../../../extension/engine/generation/scheduler/urgency';
import type { Priority } from '../../../../extension/engine/generation/types';

const NOW = 1000;
let arrivals = 0;

interface Named extends Plannable {
  readonly name: string;
}

function sequence(name: string, priority: Priority, numPending: number, lastRunAt = NOW): Named {
  const rank = PRIORITIES.indexOf(priority);
  return { name, rank, arrival: arrivals++, numPending, reach: Infinity, lastRunAt };
}

/** A machine whose step takes a millisecond, and 0.25 for each row. */
function plan(running: readonly Named[], extra: Partial<PlanLimits> = {}): Record<string, number> {
  const cost = new StepCost();
  cost.observe(4, 2, false);
  cost.observe(64, 17, true);
  const limits = { cost, now: NOW, maxTokens: 512, maxRows: 8, isOvertakenLately: () => false };
  const slices = planStep(running, { ...limits, ...extra });
  return Object.fromEntries(slices.map((slice) => [slice.sequence.name, slice.count]));
}

const RELAXED = (RELAXED_MS - 1) * 4;
const SLICED = (SLICE_MS - 1) * 4;

describe('plan of a step', () => {
  test('a prompt alone is prefilled in large chunks, in slices when the user has just typed', () => {
    assert.deepEqual(plan([sequence('chat', 'chat', 1500)]), { chat: RELAXED });
    const overtaken = { isOvertakenLately: (rank: number) => rank > 0 };
    assert.deepEqual(plan([sequence('chat', 'chat', 1500)], overtaken), { chat: SLICED });
    assert.deepEqual(plan([sequence('x', 'completion', 1500)], overtaken), { x: RELAXED });
  });

  test('prefill beside decoding of the same priority leaves the step short', () => {
    const running = [sequence('new', 'chat', 1500), sequence('old', 'chat', 1)];
    assert.deepEqual(plan(running), { old: 1, new: SLICED - 1 });
  });

  test('prompts of one priority are prefilled in order of arrival', () => {
    const running = [sequence('first', 'port', 20), sequence('second', 'port', 500)];
    const counts = plan(running);
    assert.equal(counts.first, 20);
    assert.deepEqual(Object.keys(counts), ['first', 'second']);
    assert.deepEqual(plan([sequence('first', 'port', 500), sequence('second', 'port', 20)]), {
      first: RELAXED,
    });
  });

  test('less urgent prefill waits for a completion, but not for ever', () => {
    const completion = sequence('completion', 'completion', 30);
    assert.deepEqual(plan([completion, sequence('chat', 'chat', 1500)]), { completion: 30 });
    const impatient = sequence('chat', 'chat', 1500, NOW - PATIENCE_MS.completion);
    assert.deepEqual(plan([completion, impatient]), { completion: 30, chat: MIN_CHUNK });
    const decoding = sequence('completion', 'completion', 1);
    assert.deepEqual(plan([decoding, impatient]), { completion: 1, chat: SLICED - 1 });
  });

  test('less urgent sequences decode along while the step stays short', () => {
    const chat = sequence('chat', 'chat', 1);
    assert.deepEqual(plan([sequence('completion', 'completion', 20), chat]), {
      completion: 20,
      chat: 1,
    });
    assert.deepEqual(plan([sequence('completion', 'completion', 90), chat]), { completion: 90 });
    const impatient = sequence('chat', 'chat', 1, NOW - PATIENCE_MS.completion);
    assert.deepEqual(plan([sequence('completion', 'completion', 90), impatient]), {
      completion: 90,
      chat: 1,
    });
  });

  test('one guest a step: who has waited longest', () => {
    const completions = [0, 1].map((i) => sequence(`${i}`, 'completion', 1));
    const waits = (name: string, ago: number) => sequence(name, 'port', 1, NOW - ago);
    const limits = { maxRows: 2 };
    assert.deepEqual(plan([...completions, waits('a', 150), waits('b', 200)], limits), {
      b: 1,
      0: 1,
    });
    assert.deepEqual(plan([...completions, waits('a', 50), waits('b', 60)], limits), {
      0: 1,
      1: 1,
    });
    const prompts = [150, 200].map((ago) => sequence(`p${ago}`, 'port', 500, NOW - ago));
    assert.deepEqual(plan([...completions, ...prompts]), { 0: 1, 1: 1, p200: SLICED - 2 });
  });

  test('a machine too slow for the time limits still goes on', () => {
    const cost = new StepCost();
    cost.observe(1, 200, false);
    cost.observe(16, 900, true);
    const running = [sequence('old', 'chat', 1), sequence('new', 'chat', 1500)];
    assert.deepEqual(plan(running, { cost }), { old: 1, new: MIN_CHUNK });
  });

  test('rows of logits and tokens stay within the executable; who has waited longest decodes first', () => {
    const running = [5, 1, 3].map((ago, i) => sequence(`${i}`, 'port', 1, NOW - ago));
    assert.deepEqual(Object.keys(plan(running, { maxRows: 2 })).sort(), ['0', '2']);
    const short = sequence('short', 'port', 9);
    assert.deepEqual(plan([...running, short], { maxRows: 3 }), { 0: 1, 1: 1, 2: 1, short: 8 });
    assert.deepEqual(plan([sequence('long', 'port', 100)], { maxTokens: 10 }), { long: 10 });
  });
});
