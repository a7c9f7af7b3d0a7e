import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Acceptance } from '../../../../extension/engine/generation/speculate/acceptance';

/** Rows are nearly free, as where the weights come from memory. */
const cheap = (drafted: number) => 1 + 0.05 * drafted;
/** Each row costs as much as the first. */
const dear = (drafted: number) => 1 + drafted;

test('good drafts grow long, bad ones stop', () => {
  const good = new Acceptance();
  const bad = new Acceptance();
  for (let i = 0; i < 20; i++) {
    good.observe(4, 4);
    bad.observe(4, 0);
  }
  assert.equal(good.best(7, cheap), 7);
  assert.equal(bad.best(7, cheap), 0);
});

test('where a row costs as much as a step, nothing is drafted', () => {
  const acceptance = new Acceptance();
  acceptance.observe(7, 7);
  assert.equal(acceptance.best(7, dear), 0);
});

test('what did not pay is tried again one day', () => {
  const acceptance = new Acceptance();
  for (let i = 0; i < 40; i++) acceptance.observe(3, 0);
  let chances = 0;
  while (acceptance.best(3, cheap) === 0) assert.ok(++chances < 100);
  assert.ok(chances > 0);
});

test('an empty draft says nothing', () => {
  const acceptance = new Acceptance();
  const before = acceptance.best(7, cheap);
  for (let i = 0; i < 50; i++) acceptance.observe(0, 0);
  assert.equal(acceptance.best(7, cheap), before);
});
