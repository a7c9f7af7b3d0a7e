import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SEGMENT_TOKENS } from '../../../../extension/engine/cache/saved/segment_keys';
import type { EngineOptions } from '../../../../extension/engine/engine_options';
import { loadEngine } from '../../../../extension/engine/load_engine';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { ownCacheFolder, type OwnCacheFolder } from '../../../cache_folder';

const modelDir = new URL('../../../../extension/assets/sprout', import.meta.url).pathname;
let kept: OwnCacheFolder;
before(() => (kept = ownCacheFolder()));
after(() => kept.restore());

async function answer(options: Partial<EngineOptions>) {
  const engine = await loadEngine({
    modelDir,
    backend: 'cpu',
    precision: 'fast',
    threads: 2,
    contextLength: 1024,
    sessionCache: 64,
    ...options,
  });
  const lines = Array.from({ length: 80 }, (_, i) => `def f${i}(x):\n    return x + ${i}\n`);
  const ids = engine.tokenizer.encode(lines.join('')).slice(0, 700);
  const request = { ids, maxTokens: 24, sampling: GREEDY, stop: [], priority: 'chat' } as const;
  const result = await engine.generate(request);
  engine.checkIntegrity();
  await engine.dispose();
  return result;
}

const files = () =>
  readdirSync(kept.folder, { recursive: true })
    .map(String)
    .filter((f) => f.endsWith('.kv'));

test('sprout answers the same from disk as from its own work, in the precision it was kept in', async () => {
  const off = await answer({ sessionCache: 0 });
  assert.deepEqual(files(), []);
  const cold = await answer({});
  const warm = await answer({});
  assert.equal(cold.cachedTokens, 0);
  assert.equal(warm.cachedTokens, 5 * SEGMENT_TOKENS);
  assert.deepEqual(warm.ids, cold.ids);
  assert.deepEqual(off.ids, cold.ids);
  for (const file of files()) assert.equal(statSync(join(kept.folder, file)).mode & 0o777, 0o600);
  assert.equal((await answer({ precision: 'exact' })).cachedTokens, 0);
  assert.equal((await answer({ precision: 'exact' })).cachedTokens, 5 * SEGMENT_TOKENS);
});
