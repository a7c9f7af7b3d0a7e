/** A model of other makers, end to end, against llama.cpp on the same file. `npm run fetch:smollm2` gets it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { Precision } from '../../../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../../../extension/engine/backend/native';
import { fuse } from '../../../../extension/engine/core/fuse';
import { buildProgram } from '../../../../extension/engine/core/models/registry';
import { loadEngine } from '../../../../extension/engine/load_engine';
import { GREEDY } from '../../../../extension/engine/generation/types';
import { openModel } from '../../../../extension/engine/loading/open_model';
import { FIXTURES } from '../model_fixture';

const FILE = resolve(FIXTURES, '../../.cache/SmolLM2-135M-Instruct.Q4_1.gguf');
const skip = existsSync(FILE) ? false : `no ${FILE}: npm run fetch:smollm2 gets it`;

/** `source` says how llama.cpp's figures were obtained. */
const GOLDEN = JSON.parse(readFileSync(join(FIXTURES, 'smollm2.json'), 'utf8')) as {
  readonly text: string;
  readonly tokens: number;
  readonly first_ids: readonly number[];
  readonly perplexity: number;
  readonly answers: readonly { readonly question: string; readonly answer: string }[];
};

/** e to the mean surprise of every token of the text but the first, which has nothing before it. */
async function perplexity(precision: Precision): Promise<number> {
  const model = openModel(FILE);
  const program = fuse(buildProgram(model.config(), model.weights));
  const ids = Int32Array.from(model.tokenizer().encode(GOLDEN.text));
  const backend = loadNativeBackend();
  const kvBlocks = Math.ceil(ids.length / backend.kvBlockSize);
  const options = { precision, kvBlocks, maxTokens: ids.length, maxLogitRows: ids.length };
  const executable = await backend.compile(program, model.weights, { ...options, threads: 0 });
  const positions = Int32Array.from(ids.keys());
  const logits = await executable.step({
    tokens: ids,
    positions,
    offsets: Int32Array.of(0, ids.length),
    blockTables: Int32Array.from({ length: kvBlocks }, (_, block) => block),
    blocksPerSequence: kvBlocks,
    logitRows: positions,
  });
  executable.dispose();
  model.close();
  let surprise = 0;
  for (const [i, id] of ids.subarray(1).entries()) {
    const row = logits.subarray(i * program.vocabSize, (i + 1) * program.vocabSize);
    surprise += Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0)) - (row[id] ?? NaN);
  }
  return Math.exp(surprise / (ids.length - 1));
}

describe('SmolLM2-135M-Instruct, Q4_1', { skip }, () => {
  test('the tokenizer gives the ids of llama.cpp', () => {
    const model = openModel(FILE);
    const ids = model.tokenizer().encode(GOLDEN.text);
    model.close();
    assert.equal(ids.length, GOLDEN.tokens);
    assert.deepEqual(ids.slice(0, GOLDEN.first_ids.length), GOLDEN.first_ids);
  });

  // llama.cpp rounds activations to 8 bits, so exact arithmetic is a little better than its figure.
  for (const precision of ['exact', 'fast'] as const) {
    test(`${precision}: the perplexity of a text is that of llama.cpp within 1 %`, async () => {
      const got = await perplexity(precision);
      const ratio = got / GOLDEN.perplexity;
      assert.ok(ratio > 0.99 && ratio < 1.01, `${got} for ${GOLDEN.perplexity}`);
    });
  }

  test('greedy answers are those of llama.cpp', async () => {
    const options = { modelDir: FILE, backend: 'cpu', precision: 'fast', threads: 0 } as const;
    const engine = await loadEngine(options);
    for (const { question, answer } of GOLDEN.answers) {
      const messages = [{ role: 'user' as const, content: question }];
      const ids = engine.chat?.encode(messages, { addGenerationPrompt: true }) ?? [];
      const { text } = await engine.generate({ ids, maxTokens: 32, sampling: GREEDY, stop: [] });
      assert.equal(text, answer);
    }
    await engine.dispose();
  });
});
