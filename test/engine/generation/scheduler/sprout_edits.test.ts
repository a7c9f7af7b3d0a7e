import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noEditCounts, SproutEdits } from './sprout_edits';

/** `npm run soak:edits` runs 500. */
const SCRIPTS = 25;

test('on the built-in model, batched and cached answers to edited texts equal cold ones token for token', async () => {
  const edits = await SproutEdits.start();
  const counts = noEditCounts();
  for (let seed = 0; seed < SCRIPTS; seed++) await edits.run(seed, counts);
  edits.dispose();
  // Otherwise the scripts would not test what they are for.
  for (const [name, count] of Object.entries(counts)) assert.ok(count > 10, `${name}: ${count}`);
});
