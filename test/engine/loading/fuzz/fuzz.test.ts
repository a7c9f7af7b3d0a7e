/** A share of what `npm run fuzz` does at length. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../model_fixture';
import { runCase, targets } from './targets';

const CASES = 1_000;
const MAX_SECONDS = 10;

for (const target of targets()) {
  test(`a changed ${target.name} loads or is refused`, () => {
    const folder = temporaryFolder();
    const end = performance.now() + MAX_SECONDS * 1_000;
    for (let seed = 1; seed <= CASES && performance.now() < end; seed++) {
      assert.equal(runCase(target, folder, seed), null);
    }
  });
}
