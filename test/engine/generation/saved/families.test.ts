/** What is kept of conversations, on real checkpoints: with recurrent state and without, on each backend. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { loadNativeBackend } from '../../../../extension/engine/backend/native';
import { createReferenceBackend } from '../../../../extension/engine/backend/reference';
import { SEGMENT_TOKENS } from '../../../../extension/engine/cache/saved/segment_keys';
import { ownCacheFolder, type OwnCacheFolder } from '../../../cache_folder';
import { answerOf, VOCAB_SIZE } from './process';

let kept: OwnCacheFolder;
beforeEach(() => (kept = ownCacheFolder()));
afterEach(() => kept.restore());

const text = (seed: number, length: number) =>
  Array.from(
    { length },
    (_, i) => (Math.imul(seed * 977 + i + 1, 2_654_435_761) >>> 0) % VOCAB_SIZE,
  );

const [reference, native] = [createReferenceBackend(), loadNativeBackend()];
const cases = [
  ...['qwen3-next', 'qwen3.5', 'qwen3.5-moe', 'qwen2'].map((name) => ({ name, backend: native })),
  ...['qwen3.5', 'qwen2'].map((name) => ({ name, backend: reference })),
];
for (const { name, backend } of cases) {
  test(`${name} on ${backend.name} goes on after a restart as it would have without`, async () => {
    for (const precision of backend === native
      ? (['exact', 'fast'] as const)
      : (['exact'] as const)) {
      const of = { name, backend, precision };
      const ids = text(1, 600);
      const cold = await answerOf(of, ids);
      assert.equal(cold.cachedTokens, 0);
      const warm = await answerOf(of, ids);
      assert.equal(warm.cachedTokens, 4 * SEGMENT_TOKENS);
      assert.deepEqual(warm.ids, cold.ids);
      const fork = [...ids.slice(0, 550), ...text(2, 50)];
      const forked = await answerOf(of, fork);
      assert.equal(forked.cachedTokens, 4 * SEGMENT_TOKENS);
      assert.deepEqual(forked.ids, (await answerOf({ ...of, megabytes: 0 }, fork)).ids);
    }
  });
}
