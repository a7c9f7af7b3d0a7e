/** attention_append against the two ops that it replaces: not a bit may differ, so that steps of any form agree. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BLOCK, makeStep, stepFields } from './batch';
import { storeRows, type KvType } from './kv_pool';
import { byteSize, Random, store } from './numbers';
import { normFields, ropeFields, type Rope } from './oracle';
import { DTYPE, merge, Runner, RunnerError, skip } from './runner';

interface Case {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly norm: 'rms' | 'layer' | null;
  readonly isWholeRow?: boolean;
  readonly rope: Rope['layout'] | null;
  /** Share of a head that is rotated. */
  readonly fraction?: number;
  readonly window?: number;
  /** Sinks, a soft cap, and a gate in columns of qkv. */
  readonly hasExtras?: boolean;
}

const cases: readonly Case[] = [
  { heads: 4, kvHeads: 2, headDim: 64, norm: 'rms', rope: 'half' },
  { heads: 16, kvHeads: 2, headDim: 128, norm: 'rms', rope: 'half' },
  { heads: 3, kvHeads: 1, headDim: 96, norm: 'layer', rope: 'half', fraction: 0.5 },
  { heads: 4, kvHeads: 2, headDim: 32, norm: 'rms', isWholeRow: true, rope: 'interleaved' },
  { heads: 5, kvHeads: 5, headDim: 80, norm: null, rope: null, window: 40 },
  { heads: 4, kvHeads: 2, headDim: 256, norm: 'rms', rope: 'half', fraction: 0.25 },
  { heads: 7, kvHeads: 1, headDim: 128, norm: null, rope: 'half', hasExtras: true },
];

/** Single rows whose last key begins or ends a block, a tile or the context. */
const PASTS = [0, 15, 16, 31, 32, 70, 1023, 1024, 2500];

for (const simdgroups of [16, 2048]) {
  describe(`attention_append on a device of ${simdgroups} simdgroups`, { skip }, () => {
    let runner: Runner;
    before(async () => (runner = await Runner.start({ simdgroups })));
    after(() => runner.stop());

    for (const [type, kvType] of [
      ['f32', 'f32'],
      ['f16', 'f16'],
      ['f32', 'i8'],
      ['f16', 'i8'],
    ] as const) {
      for (const test of cases) {
        const { heads, kvHeads, headDim, norm, rope } = test;
        it(`${heads}/${kvHeads} heads of ${headDim}, norm ${norm}, rope ${rope}, ${type} over ${kvType}`, async () => {
          for (const pasts of [PASTS, [2500], [20]]) {
            const request = requestOf(
              test,
              type,
              kvType,
              pasts.map((past) => ({ past, rows: 1 })),
            );
            const [one, two] = [await request.append(runner), await request.inTwo(runner)];
            for (const name of ['out', 'keys', 'values'] as const) {
              assert.deepEqual(one[name], two[name], `${name} after ${pasts.join()}`);
            }
          }
        });
      }
    }

    it('is refused where a sequence has two rows', async () => {
      const request = requestOf(cases[0] as Case, 'f32', 'f32', [{ past: 9, rows: 2 }]);
      await assert.rejects(request.append(runner), RunnerError);
    });
  });
}

function requestOf(
  test: Case,
  type: 'f32' | 'f16',
  kvType: KvType,
  sequences: readonly { past: number; rows: number }[],
) {
  const { heads, kvHeads, headDim, norm: kind, fraction = 1, window = 0, hasExtras } = test;
  const random = new Random(heads * headDim + sequences.length);
  const step = makeStep(sequences, random);
  const units = heads + 2 * kvHeads;
  const width = heads * headDim;
  const stride = units * headDim + width + 8;
  const qkv = store(type, random.floats(step.rows * stride));
  const pool = () =>
    storeRows(kvType, random.floats(step.blocks * kvHeads * BLOCK * headDim), headDim).bytes;
  const changed = { keys: pool(), values: pool() };
  const pairs = Math.floor((headDim * fraction) / 2);
  const rope =
    test.rope === null
      ? null
      : {
          inverseFrequencies: Array.from({ length: pairs }, (_, i) => 10000 ** (-i / pairs)),
          scale: 1.1,
          layout: test.rope,
          start: 0,
        };
  const spec = (count: number, offset: number) => {
    if (kind === null) return null;
    const size = test.isWholeRow ? count * headDim : headDim;
    const bias = kind === 'layer' ? random.floats(size) : null;
    return { kind, weight: random.floats(size), bias, eps: 1e-6, offset };
  };
  const fields = merge(
    stepFields(step),
    normFields('q_norm', spec(heads, 0)),
    normFields('k_norm', spec(kvHeads, 1)),
    ropeFields(rope),
    {
      numbers: {
        heads,
        kv_heads: kvHeads,
        key_dim: headDim,
        value_dim: headDim,
        kv_type: DTYPE[kvType],
        qkv_type: DTYPE[type],
        qkv_stride: stride,
        is_whole_row: test.isWholeRow ? 1 : 0,
        out_type: DTYPE[type],
        q_type: DTYPE[type],
        scale: 1 / Math.sqrt(headDim),
        window,
        softcap: hasExtras ? 5 : 0,
        gate_type: DTYPE[type],
        gate_stride: stride,
        gate_column: units * headDim + 3,
      },
      inputs: {
        offsets: step.offsets,
        qkv: qkv.bytes,
        ...(hasExtras ? { sinks: random.floats(heads, 4), gate: qkv.bytes } : {}),
      },
    },
  );
  const outputs = { out: byteSize(type, step.rows * width) };
  return {
    append: (runner: Runner) => runner.run({ op: 'attention_append', ...fields, changed, outputs }),
    inTwo: async (runner: Runner) => {
      const { out, keys, values } = await runner.run({
        op: 'attention_prepare',
        ...fields,
        changed,
        outputs,
      });
      const inputs = {
        ...fields.inputs,
        q: out as Buffer,
        keys: keys as Buffer,
        values: values as Buffer,
      };
      const attended = await runner.run({ op: 'attention', ...fields, inputs, outputs });
      return { out: attended.out, keys, values };
    },
  };
}
