import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { SEGMENT_TOKENS } from '../../../../extension/engine/cache/saved/segment_keys';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { loadEngine } from '../../../../extension/engine/load_engine';
import { ownCacheFolder, type OwnCacheFolder } from '../../../cache_folder';
import { convert } from '../../loading/gguf/convert';
import { f32, i32, text, u32 } from '../../loading/gguf/gguf_fixture';
import { FIXTURES, temporaryFolder, writeFiles } from '../../loading/model_fixture';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
let kept: OwnCacheFolder;
before(() => (kept = ownCacheFolder()));
after(() => kept.restore());

test('an engine with a hybrid goes on from disk where it was asked to keep conversations', async () => {
  const vocabulary = {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': text(['<unk>', '<s>', '</s>', ...LETTERS]),
    'tokenizer.ggml.token_type': i32([2, 3, 3, ...LETTERS.map(() => 1)]),
    'tokenizer.ggml.scores': f32([0, 0, 0, ...LETTERS.map(() => -1)]),
    'tokenizer.ggml.eos_token_id': u32(2),
  };
  const file = convert(join(FIXTURES, 'families', 'qwen3.5'), vocabulary);
  const modelDir = join(writeFiles(temporaryFolder(), { 'model.gguf': file }), 'model.gguf');
  const answer = async (sessionCache: number) => {
    const engine = await loadEngine({
      modelDir,
      backend: 'cpu',
      precision: 'fast',
      threads: 2,
      contextLength: 1024,
      sessionCache,
    });
    const ids = Array.from({ length: 700 }, (_, i) => 3 + ((i * i) % LETTERS.length));
    const request = { ids, maxTokens: 8, sampling: GREEDY, stop: [], priority: 'chat' } as const;
    const result = await engine.generate(request);
    engine.checkIntegrity();
    await engine.dispose();
    return result;
  };
  const [off, cold, warm] = [await answer(0), await answer(64), await answer(64)];
  assert.deepEqual(
    [off, cold, warm].map(({ cachedTokens }) => cachedTokens),
    [0, 0, 5 * SEGMENT_TOKENS],
  );
  assert.deepEqual(cold.ids, off.ids);
  assert.deepEqual(warm.ids, off.ids);
});
