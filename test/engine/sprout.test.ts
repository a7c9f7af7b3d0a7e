import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Executable } from '../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import { argmax } from '../../extension/engine/generation/sampler';
import { openCheckpoint } from '../../extension/engine/loading/checkpoint';
import { readModelConfig } from '../../extension/engine/loading/config';
import { embeddedModel } from '../../extension/engine/loading/model_dir';
import { loadTokenizer } from '../../extension/engine/loading/tokenizer';

/** From an independent float32 forward pass of the dequantized weights. */
interface Golden {
  readonly prompts: readonly {
    readonly name: string;
    readonly text: string;
    readonly ids: readonly number[];
    readonly last: { readonly top_ids: readonly number[]; readonly top_logits: readonly number[] };
    readonly greedy: readonly number[];
  }[];
}

const golden = JSON.parse(
  readFileSync(join(__dirname, '../fixtures/sprout-golden.json'), 'utf8'),
) as Golden;
const KV_BLOCKS = 16;
const MAX_TOKENS = 384;

async function compile(precision: 'exact' | 'fast'): Promise<Executable> {
  const store = openCheckpoint(embeddedModel());
  const program = fuse(buildProgram(readModelConfig(embeddedModel()), store));
  const options = {
    precision,
    kvBlocks: KV_BLOCKS,
    maxTokens: MAX_TOKENS,
    maxLogitRows: 1,
    threads: 0,
  };
  const executable = await loadNativeBackend().compile(program, store, options);
  store.close();
  return executable;
}

/** Logits of the last of `ids`, which follow `start` earlier tokens. */
function step(
  executable: Executable,
  ids: readonly number[],
  start: number,
): Promise<Float32Array> {
  return executable.step({
    tokens: Int32Array.from(ids),
    positions: Int32Array.from(ids, (_, i) => start + i),
    offsets: Int32Array.of(0, ids.length),
    blockTables: Int32Array.from({ length: KV_BLOCKS }, (_, b) => b),
    blocksPerSequence: KV_BLOCKS,
    logitRows: Int32Array.of(ids.length - 1),
  });
}

describe('the built-in model', () => {
  test('the tokenizer gives the ids of the goldens', () => {
    const tokenizer = loadTokenizer(embeddedModel());
    for (const prompt of golden.prompts)
      assert.deepEqual(tokenizer.encodeTemplate(prompt.text), prompt.ids);
  });

  test('exact: the logits of another implementation within 2e-2, all 48 greedy tokens equal', async () => {
    const executable = await compile('exact');
    for (const { name, ids, last, greedy } of golden.prompts) {
      let logits = await step(executable, ids, 0);
      for (const [i, id] of last.top_ids.entries()) {
        const error = Math.abs((logits[id] ?? NaN) - (last.top_logits[i] ?? NaN));
        assert.ok(error < 2e-2, `${name}: logit of ${id} is off by ${error}`);
      }
      const got: number[] = [];
      while (got.length < greedy.length) {
        const next = argmax(logits);
        got.push(next);
        logits = await step(executable, [next], ids.length + got.length - 1);
      }
      assert.deepEqual(got, greedy, name);
    }
    executable.dispose();
  });

  test('fast: int8 activations keep the order of the likeliest tokens', async () => {
    const executable = await compile('fast');
    for (const { name, ids, last } of golden.prompts) {
      const logits = await step(executable, ids, 0);
      assert.equal(argmax(logits), last.top_ids[0], name);
      const errors = last.top_ids.map((id, i) =>
        Math.abs((logits[id] ?? NaN) - (last.top_logits[i] ?? NaN)),
      );
      assert.ok(Math.max(...errors) < 1, `${name}: ${Math.max(...errors)}`);
    }
    executable.dispose();
  });
});
