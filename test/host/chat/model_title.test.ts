import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelTitle } from '../../../extension/host/chat/model_title';

const TITLES: readonly (readonly [path: string, title: string | null])[] = [
  ['/models/Qwen3-4B-Instruct', 'Qwen3-4B-Instruct'],
  ['/models/SmolLM2-135M-Instruct.Q4_1.gguf', 'SmolLM2-135M-Instruct.Q4_1'],
  ['C:\\models\\big-Q4_K_M-00001-of-00003.gguf', 'big-Q4_K_M'],
  ['/hub/models--org--a-b/snapshots/0123abcd/', 'org/a-b'],
  ['/hub/models--org--a-b/snapshots/0123abcd/a-Q8_0.gguf', 'a-Q8_0'],
  [`/ollama/models/blobs/sha256-${'0'.repeat(64)}`, null],
];

test('a model is called as its folder or its file', () => {
  for (const [path, title] of TITLES) assert.equal(modelTitle(path), title, path);
});
