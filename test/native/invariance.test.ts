/** A row's result does not depend on its company: not on the batch, the cache, nor the number of threads. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadNativeBackend, nativeInstructionSets } from '../../extension/engine/backend/native';
import { randomTokens, Runner, TestProgram } from './harness';
import { experts, routed, ROUTING } from './moe_program';
import type { Program } from '../../extension/engine/core/program';

const vocab = 96;
const hidden = 64;
const heads = 6;
const kvHeads = 2;
const headDim = 24;

/** One fused decoder layer with 4-bit and float weights. */
function decoderLayer(test: TestProgram): Program {
  const coding = { bits: 4, groupSize: 32, scales: 'BF16' } as const;
  const x = test.embed(vocab, hidden, coding);
  const qkv = test.value((heads + 2 * kvHeads) * headDim);
  const weights = [heads, kvHeads, kvHeads].map((n) =>
    test.matrix(n * headDim, hidden, coding, 0.4),
  );
  const biases = [null, null, null];
  test.push({
    op: 'linear',
    x,
    weights,
    biases,
    norm: test.rmsNorm(hidden),
    residual: null,
    out: qkv,
  });
  const layer = test.kvLayer({ kvHeads, keyDim: headDim, valueDim: headDim });
  const q = test.value(heads * headDim);
  const inverseFrequencies = Array.from({ length: headDim / 2 }, (_, i) => 1000 ** (-i / 12));
  const rope = { inverseFrequencies, scale: 1, layout: 'half' } as const;
  const qNorm = test.rmsNorm(headDim);
  test.push({
    op: 'attention_prepare',
    qkv,
    layer,
    heads,
    kvHeads,
    headDim,
    qNorm,
    kNorm: qNorm,
    rope,
    out: q,
  });
  const mixed = test.value(heads * headDim);
  test.push({
    op: 'attention',
    q,
    layer,
    heads,
    scale: 0.3,
    window: 170,
    softcap: null,
    sinks: null,
    out: mixed,
  });
  const joined = test.value(hidden);
  const output = [test.matrix(hidden, heads * headDim, 'BF16', 0.4)];
  test.push({
    op: 'linear',
    x: mixed,
    weights: output,
    biases: [null],
    norm: null,
    residual: x,
    out: joined,
  });
  const inner = test.value(160);
  const gate = test.matrix(160, hidden, coding, 0.4);
  const up = test.matrix(160, hidden, { bits: 8, groupSize: 64, scales: 'F16' }, 0.4);
  const norm = test.rmsNorm(hidden);
  test.push({ op: 'glu', x: joined, gate, up, activation: 'silu', norm, out: inner });
  return test.finish(test.linear(inner, vocab, coding));
}

/** A mixture of experts with a shared one; prefill sorts its rows by expert, decode does not have to. */
function mixture(test: TestProgram): Program {
  const coding = { bits: 4, groupSize: 32, scales: 'BF16' } as const;
  const { topK } = ROUTING;
  const [rows, shared] = [96, 64];
  const x = test.embed(vocab, hidden, coding);
  const route = routed(test, x, hidden, ROUTING, true);
  const inner = test.value(topK * rows + shared);
  test.push({
    op: 'moe_glu',
    x,
    norm: test.rmsNorm(hidden),
    route,
    experts: ROUTING.experts,
    topK,
    gate: experts(test, 1, rows, hidden, coding),
    up: experts(test, 1, rows, hidden, 'BF16'),
    gateBias: null,
    upBias: null,
    sharedGate: test.matrix(shared, hidden, coding, 0.3),
    sharedUp: test.matrix(shared, hidden, coding, 0.3),
    activation: 'silu',
    out: inner,
  });
  const out = test.value(hidden);
  test.push({
    op: 'moe_linear',
    mode: 'reduce',
    x: inner,
    route,
    experts: ROUTING.experts,
    topK,
    weights: experts(test, 2, hidden, rows, coding),
    bias: null,
    shared: test.matrix(hidden, shared, coding, 0.3),
    residual: x,
    out,
  });
  return test.finish(test.linear(out, vocab, coding));
}

/** A Gated DeltaNet, whose state goes from step to step. */
function recurrence(test: TestProgram): Program {
  const spec = { keyHeads: 2, valueHeads: 4, keyDim: 40, valueDim: vocab / 4, taps: 4 };
  const channels = 2 * spec.keyHeads * spec.keyDim + vocab;
  const out = test.value(vocab);
  test.push({
    op: 'gated_delta',
    x: test.embed(vocab, channels + 2 * spec.valueHeads),
    layer: test.stateLayer(spec),
    conv: test.vector(channels * spec.taps),
    decay: test.vector(spec.valueHeads),
    timeBias: test.vector(spec.valueHeads),
    out,
  });
  return test.finish(out);
}

/** What each one tests, and whether its steps can begin anywhere in a sequence. */
const WHAT = new Map([
  [decoderLayer, { name: 'a decoder layer', isRecurrent: false }],
  [mixture, { name: 'experts', isRecurrent: false }],
  [recurrence, { name: 'a recurrent state', isRecurrent: true }],
]);

describe('a row alone equals the row in a batch, bit for bit', () => {
  const builds = nativeInstructionSets().flatMap(
    (isa) =>
      [
        { isa, build: decoderLayer, kvBits: 16 },
        { isa, build: decoderLayer, kvBits: 8 },
        { isa, build: mixture, kvBits: 16 },
        { isa, build: recurrence, kvBits: 16 },
      ] as const,
  );
  for (const { isa, build, kvBits } of builds) {
    const { name, isRecurrent } = WHAT.get(build) ?? assert.fail();
    const what = kvBits === 16 ? name : `${name}, ${kvBits} bits`;
    for (const precision of ['exact', 'fast'] as const) {
      test(`${what}, ${isa}, ${precision}`, async () => {
        const test = new TestProgram();
        const program = build(test);
        const create = (threads: number) =>
          Runner.create(loadNativeBackend({ isa }), program, test.weights, {
            precision,
            kvBits,
            sequences: 3,
            threads,
          });
        const prompt = randomTokens(300, vocab);

        // Token by token on one thread.
        const alone = await create(1);
        const expected: Float32Array[] = [];
        for (const [start, token] of prompt.entries())
          expected.push(await alone.step([{ tokens: [token], start }]));

        // In chunks, on other thread counts, beside other sequences.
        for (const threads of [1, 2, 3]) {
          const runner = await create(threads);
          for (const [start, end] of [
            [0, 61],
            [61, 93],
            [93, 94],
            [94, 158],
            [158, 161],
            [161, 225],
            [225, 300],
          ] as const) {
            const parts = [
              { tokens: randomTokens(5, vocab, end), start: isRecurrent ? 0 : start },
              { tokens: prompt.slice(start, end), start },
              { tokens: randomTokens(11, vocab, end + 1), start: isRecurrent ? 0 : 7 },
            ];
            const got = await runner.step(parts);
            for (let row = start; row < end; row++) {
              const at = (5 + row - start) * vocab;
              assert.deepEqual(
                got.subarray(at, at + vocab),
                expected[row],
                `row ${row}, ${threads} threads`,
              );
            }
          }
          runner.executable.dispose();
        }
        alone.executable.dispose();
        test.weights.close();
      });
    }
  }
});
