import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StepCost } from '../../../../extension/engine/generation/scheduler/step_cost';

test('the price of a token and of a step come from a decode and a prefill step', () => {
  const cost = new StepCost();
  cost.observe(2, 3, false); // 1 + 1 * tokens
  cost.observe(101, 102, true);
  assert.ok(Math.abs(cost.estimate(50) - 51) < 1e-9);
  assert.equal(cost.tokensWithin(12), 11);
  assert.equal(cost.tokensWithin(0.5), 0);
});

test('it follows a machine that gets slower', () => {
  const cost = new StepCost();
  cost.observe(100, 100, true);
  for (let i = 0; i < 20; i++) cost.observe(100, 200, true);
  assert.ok(Math.abs(cost.estimate(100) - 200) < 1);
});

test('it gives a sane answer before and after strange samples', () => {
  const cost = new StepCost();
  assert.ok(cost.tokensWithin(12) >= 1);
  cost.observe(1, 500, false); // a decode step that was held up
  cost.observe(64, 16, true);
  assert.equal(cost.tokensWithin(12), 48);
  const instant = new StepCost();
  instant.observe(64, 0, true);
  assert.ok(instant.tokensWithin(12) > 0 && Number.isFinite(instant.tokensWithin(12)));
});
