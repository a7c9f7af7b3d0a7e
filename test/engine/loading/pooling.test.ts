import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ggufPooling, readPooling } from '../../../extension/engine/loading/pooling';
import { temporaryFolder } from './model_fixture';

test('pooling as sentence-transformers writes it', () => {
  const folder = temporaryFolder();
  assert.equal(readPooling(folder), null);
  mkdirSync(join(folder, '1_Pooling'));
  const write = (config: object) =>
    writeFileSync(join(folder, '1_Pooling/config.json'), JSON.stringify(config));
  write({ word_embedding_dimension: 1024, pooling_mode_lasttoken: true });
  assert.equal(readPooling(folder), 'last');
  write({ pooling_mode_mean_tokens: true, pooling_mode_lasttoken: false });
  assert.equal(readPooling(folder), 'mean');
  write({ pooling_mode_cls_token: true });
  assert.throws(() => readPooling(folder), { code: 'unsupported', message: /lasttoken/ });
});

test('pooling of a GGUF file', () => {
  const of = (type: number) =>
    ggufPooling(
      new Map<string, string | number>([
        ['general.architecture', 'qwen3'],
        ['qwen3.pooling_type', type],
      ]),
    );
  assert.deepEqual([0, 1, 2, 3, 4].map(of), [null, 'mean', null, 'last', null]);
  assert.equal(ggufPooling(new Map()), null);
});
