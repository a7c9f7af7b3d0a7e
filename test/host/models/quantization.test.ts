import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gist, suggested } from '../../../extension/host/models/quantization';

const GB = 1e9;
const variant = (label: string, gigabytes: number) => ({
  label,
  files: [],
  sizeBytes: gigabytes * GB,
});

describe('a quantization', () => {
  it('is told in words by the name of the file', () => {
    const gists = [
      ['qwen2.5-coder-7b-instruct-q4_k_m.gguf', /usual balance/],
      ['Qwen3-4B-Q8_0.gguf', /as good as the original/],
      ['mellum-4b-base.Q8_0.gguf', /as good/],
      ['gpt-oss-20b-mxfp4.gguf', /makers trained/],
      ['model-IQ2_XXS.gguf', /much worse/],
      ['model-BF16.gguf', /not rounded/],
      ['model-Q5_K_S-00001-of-00002.gguf', /a little worse/],
      ['model.gguf', /^$/],
    ] as const;
    for (const [label, words] of gists) assert.match(gist(label), words, label);
  });

  const all = [
    variant('m-Q2_K.gguf', 3),
    variant('m-Q3_K_M.gguf', 4),
    variant('m-Q4_0.gguf', 4.8),
    variant('m-Q4_K_M.gguf', 5),
    variant('m-Q6_K.gguf', 7),
    variant('m-Q8_0.gguf', 9),
    variant('m-F16.gguf', 16),
  ];

  it('of about four bits is suggested when it fits, else the best that does', () => {
    assert.equal(suggested(all, 100 * GB)?.label, 'm-Q4_K_M.gguf');
    assert.equal(suggested(all, 5.3 * GB)?.label, 'm-Q4_0.gguf');
    assert.equal(suggested(all, 4.6 * GB)?.label, 'm-Q3_K_M.gguf');
    assert.equal(suggested(all, 1 * GB), null);
    assert.equal(suggested([variant('m-Q8_0.gguf', 1)], GB * 2)?.label, 'm-Q8_0.gguf');
  });
});
