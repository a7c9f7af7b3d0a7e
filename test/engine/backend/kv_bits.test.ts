/** What keys and values of 8 bits cost in accuracy. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { KvBits } from '../../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../../extension/engine/backend/native';
import { createReferenceBackend } from '../../../extension/engine/backend/reference';
import { roundToCodes } from '../../../extension/engine/backend/reference/kv_codes';
import { agreementOf } from '../../../extension/engine/cli/verify';
import { fuse } from '../../../extension/engine/core/fuse';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import { argmax } from '../../../extension/engine/generation/sampler';
import { openModel } from '../../../extension/engine/loading/open_model';
import { FIXTURES, SPROUT } from '../loading/model_fixture';

/**
 * The lowest of any row's logits against another implementation's float32 ones: seen 0.9984 and more. These random
 * models magnify errors as no trained one does.
 */
const MIN_COSINE = 0.998;
/** Random routers are near ties all over: a small error sends a row to other experts. */
const IS_ROUTED = /moe|gpt-oss|deepseek/;
/** Of sprout's next-token distributions from those with 16 bits, on average, in nats: seen 6e-5. */
const MAX_DIVERGENCE = 2e-4;
/** Of greedy tokens; those that differ are near ties. */
const MIN_AGREEMENT = 0.98;
const TOKENS = 512;

test('codes keep a group to half a step of its largest number', () => {
  const row = Float32Array.from({ length: 80 }, (_, i) => Math.sin(i) * (i < 40 ? 1 : 100));
  const rounded = row.slice();
  roundToCodes(rounded, 40);
  for (const [head, scale] of [1, 100].entries()) {
    for (let i = 40 * head; i < 40 * (head + 1); i++) {
      const error = Math.abs((rounded[i] ?? NaN) - (row[i] ?? NaN));
      assert.ok(error <= scale / 254 + 1e-6, `${i}: ${error}`);
    }
  }
  const zeros = new Float32Array(32);
  roundToCodes(zeros, 32);
  assert.ok(zeros.every((x) => x === 0));
});

describe('8 bits on the conformance checkpoints', () => {
  const roots = [
    join(FIXTURES, 'conformance'),
    resolve(__dirname, '../../../../shared/conformance'),
  ];
  for (const root of roots.filter((path) => existsSync(path))) {
    for (const name of readdirSync(root).filter((name) => !IS_ROUTED.test(name))) {
      test(`${name} of ${root === roots[0] ? 'the fixtures' : 'the larger ones'}`, async () => {
        const dir = join(root, name);
        const { cosine } = await agreementOf(dir, loadNativeBackend(), 'exact', fuse, 8);
        assert.ok(cosine >= MIN_COSINE, `cosine ${cosine}`);
      });
    }
  }

  test('the reference rounds alike', async () => {
    const dir = join(FIXTURES, 'conformance', 'qwen3');
    const agreements = [createReferenceBackend(), loadNativeBackend()].map((backend) =>
      agreementOf(dir, backend, 'exact', fuse, 8),
    );
    const [reference, native] = await Promise.all(agreements);
    const difference = Math.abs((reference?.cosine ?? NaN) - (native?.cosine ?? NaN));
    assert.ok(difference < 1e-6, `cosines differ by ${difference}`);
  });
});

test('sprout’s distributions with 8 bits are those with 16 but for little', async () => {
  const model = openModel(SPROUT);
  const program = fuse(buildProgram(model.config(), model.weights));
  const source = readFileSync(join(SPROUT, '../../engine/cache/paged.ts'), 'utf8');
  const ids = model.tokenizer().encode(source).slice(0, TOKENS);
  const width = program.vocabSize;
  const logitsWith = async (kvBits: KvBits) => {
    const backend = loadNativeBackend();
    const kvBlocks = TOKENS / backend.kvBlockSize;
    const executable = await backend.compile(program, model.weights, {
      precision: 'fast',
      kvBits,
      kvBlocks,
      maxTokens: TOKENS,
      maxLogitRows: TOKENS,
      threads: 2,
      activationBits: { attention: 16, others: 16 },
    });
    const rows = Int32Array.from(ids.keys());
    const logits = await executable.step({
      tokens: Int32Array.from(ids),
      positions: rows,
      offsets: Int32Array.of(0, ids.length),
      blockTables: Int32Array.from({ length: kvBlocks }, (_, i) => i),
      blocksPerSequence: kvBlocks,
      logitRows: rows,
    });
    executable.dispose();
    return ids.map((_, row) => logits.subarray(row * width, (row + 1) * width));
  };
  const usual = await logitsWith(16);
  const rounded = await logitsWith(8);
  model.close();
  let divergence = 0;
  let agreeing = 0;
  for (const [i, row] of usual.entries()) {
    const other = rounded[i] ?? new Float32Array();
    divergence += divergenceOf(row, other) / ids.length;
    if (argmax(row) === argmax(other)) agreeing += 1 / ids.length;
  }
  assert.ok(divergence <= MAX_DIVERGENCE, `divergence ${divergence}`);
  assert.ok(agreeing >= MIN_AGREEMENT, `${agreeing} of the greedy tokens agree`);
});

/** Kullback–Leibler divergence of the distribution of `b` from that of `a`. */
function divergenceOf(a: Float32Array, b: Float32Array): number {
  const [normA, normB] = [logSumExp(a), logSumExp(b)];
  return a.reduce((sum, x, i) => {
    const logA = x - normA;
    return sum + Math.exp(logA) * (logA - ((b[i] ?? NaN) - normB));
  }, 0);
}

function logSumExp(row: Float32Array): number {
  const max = row.reduce((m, x) => Math.max(m, x), -Infinity);
  return max + Math.log(row.reduce((sum, x) => sum + Math.exp(x - max), 0));
}
