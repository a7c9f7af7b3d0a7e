import { roundToCodes } from '../../extension/engine/backend/reference/kv_codes';
import { after, before, describe, it } from 'node:test';
import { BLOCK, makeStep, slotOf, stepFields, type Step } from './batch';
import { loadRows, storeRows, type KvType } from './kv_pool';
import { assertClose, byteSize, load, Random, store, TOLERANCE } from './numbers';
import { norm, normFields, ropeFields, rotate, type Norm, type Rope } from './oracle';
import { DTYPE, merge, Runner, skip } from './runner';

function makeRope(
  headDim: number,
  fraction: number,
  layout: Rope['layout'],
  scale: number,
  start = 0,
): Rope {
  const pairs = Math.floor((headDim * fraction) / 2);
  const inverseFrequencies = Array.from({ length: pairs }, (_, i) => 10000 ** (-i / pairs));
  return { inverseFrequencies, scale, layout, start };
}

const steps: Readonly<Record<string, readonly { past: number; rows: number }[]>> = {
  'one row': [{ past: 40, rows: 1 }],
  'far positions': [{ past: 131000, rows: 2 }],
  'two sequences': [
    { past: 0, rows: 5 },
    { past: 4999, rows: 1 },
    { past: 15, rows: 3 },
  ],
};

describe('rope on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const layout of ['half', 'interleaved'] as const) {
    for (const [headDim, fraction, scale] of [
      [64, 1, 1],
      [96, 0.5, 1.25],
      [80, 0.4, 1],
    ] as const) {
      for (const [name, sequences] of Object.entries(steps)) {
        it(`${layout}, ${fraction} of ${headDim}, ${name}`, async () => {
          const random = new Random(headDim);
          const heads = 3;
          const step = makeStep(sequences, random);
          const rope = makeRope(headDim, fraction, layout, scale, headDim === 80 ? 48 : 0);
          const x = random.floats(step.rows * heads * headDim);
          const fields = merge(stepFields(step), ropeFields(rope));
          const { out } = await runner.run({
            op: 'rope',
            numbers: { ...fields.numbers, heads, head_dim: headDim },
            inputs: { ...fields.inputs, x },
            outputs: { out: x.byteLength },
          });
          const expected = Array.from({ length: step.rows * heads }, (_, h) =>
            Array.from(
              rotate(
                x.subarray(h * headDim, (h + 1) * headDim),
                step.positions[Math.floor(h / heads)] as number,
                rope,
              ),
            ),
          ).flat();
          assertClose(load('f32', out as Buffer), expected, TOLERANCE.f32, 'rope');
        });
      }
    }
  }
});

/** The type of queries, and that of keys and values. */
const TYPES = [
  ['f32', 'f32'],
  ['f16', 'f16'],
  ['f32', 'i8'],
  ['f16', 'i8'],
] as const;

/** A pool before the op, [step.blocks, kvHeads, BLOCK, dim]. */
const randomPool = (type: KvType, step: Step, kvHeads: number, dim: number, random: Random) =>
  storeRows(type, random.floats(step.blocks * kvHeads * BLOCK * dim), dim);

/**
 * keys or values as they should lie in the pool, with `before` where nothing is written. What is computed in another
 * precision may be a code further.
 */
function assertPool(
  bytes: Buffer | undefined,
  type: KvType,
  pool: Float32Array,
  step: Step,
  kvHeads: number,
  dim: number,
  tolerance: number,
  vector: (row: number, head: number) => ArrayLike<number>,
): void {
  const expected = expectedPool(pool, step, kvHeads, dim, (row, head) => {
    const own = Float32Array.from(vector(row, head));
    if (type === 'i8') roundToCodes(own, dim);
    return own;
  });
  const limit = type === 'i8' && tolerance > 0 ? Math.max(tolerance, 1.1 / 127) : tolerance;
  assertClose(loadRows(type, bytes as Buffer, dim), expected, limit, 'pool');
}

/** keys or values as they should lie in the pool, with `before` where nothing is written. */
function expectedPool(
  pool: Float32Array,
  step: Step,
  kvHeads: number,
  dim: number,
  vector: (row: number, head: number) => ArrayLike<number>,
): Float32Array {
  const expected = pool.slice();
  for (let row = 0; row < step.rows; row++) {
    for (let head = 0; head < kvHeads; head++) {
      const slot = slotOf(
        step,
        step.sequenceOf[row] as number,
        step.positions[row] as number,
        kvHeads,
        head,
        dim,
      );
      expected.set(vector(row, head), slot);
    }
  }
  return expected;
}

describe('kv_write on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const [type, shared] of [
    ['f32', 0],
    ['f16', 0],
    ['i8', 0],
    ['f32', 8],
    ['i8', 8],
  ] as const) {
    it(`writes the rows of all sequences and nothing else, ${type}, ${shared} shared columns`, async () => {
      const random = new Random(3);
      const [kvHeads, keyDim, valueDim] = [3, 72, 16];
      const own = keyDim - shared;
      const sharedKey = random.floats(shared * 9);
      const step = makeStep(steps['two sequences'] ?? [], random);
      const k = random.floats(step.rows * kvHeads * own);
      const v = random.floats(step.rows * kvHeads * valueDim);
      const keys = randomPool(type, step, kvHeads, keyDim, random);
      const values = randomPool(type, step, kvHeads, valueDim, random);
      const fields = stepFields(step);
      const result = await runner.run({
        op: 'kv_write',
        numbers: {
          ...fields.numbers,
          kv_heads: kvHeads,
          key_dim: keyDim,
          value_dim: valueDim,
          kv_type: DTYPE[type],
          shared_key_stride: shared,
        },
        inputs: { ...fields.inputs, k, v, ...(shared > 0 ? { shared_key: sharedKey } : {}) },
        changed: { keys: keys.bytes, values: values.bytes },
      });
      const key = (row: number, head: number) => [
        ...k.subarray((row * kvHeads + head) * own, (row * kvHeads + head + 1) * own),
        ...sharedKey.subarray(row * shared, (row + 1) * shared),
      ];
      const value = (row: number, head: number) =>
        v.subarray((row * kvHeads + head) * valueDim, (row * kvHeads + head + 1) * valueDim);
      const tolerance = type === 'f16' ? 1e-3 : 0;
      assertPool(result.keys, type, keys.values, step, kvHeads, keyDim, tolerance, key);
      assertPool(result.values, type, values.values, step, kvHeads, valueDim, tolerance, value);
    });
  }
});

interface Case {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly norm: 'rms' | 'layer' | null;
  /** The weights cover all heads. */
  readonly wholeRow?: boolean;
  /** So do the norms. */
  readonly wholeRowNorm?: boolean;
  readonly rope: { readonly layout: Rope['layout']; readonly fraction: number } | null;
}

const cases: readonly Case[] = [
  { heads: 4, kvHeads: 2, headDim: 64, norm: 'rms', rope: { layout: 'half', fraction: 1 } },
  {
    heads: 3,
    kvHeads: 1,
    headDim: 96,
    norm: 'rms',
    wholeRow: true,
    rope: { layout: 'half', fraction: 0.5 },
  },
  {
    heads: 4,
    kvHeads: 2,
    headDim: 32,
    norm: 'rms',
    wholeRow: true,
    wholeRowNorm: true,
    rope: { layout: 'half', fraction: 1 },
  },
  { heads: 8, kvHeads: 8, headDim: 16, norm: null, rope: { layout: 'interleaved', fraction: 1 } },
  { heads: 5, kvHeads: 5, headDim: 80, norm: 'layer', rope: null },
  { heads: 2, kvHeads: 1, headDim: 256, norm: 'rms', rope: { layout: 'half', fraction: 0.25 } },
  { heads: 7, kvHeads: 1, headDim: 128, norm: null, rope: { layout: 'half', fraction: 1 } },
];

describe('attention_prepare on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const [type, kvType] of TYPES) {
    for (const {
      heads,
      kvHeads,
      headDim,
      norm: kind,
      wholeRow = false,
      wholeRowNorm = false,
      rope: ropeCase,
    } of cases) {
      it(`${heads}/${kvHeads} heads of ${headDim}, norm ${kind}, rope ${ropeCase?.layout}, ${type} over ${kvType}`, async () => {
        const random = new Random(heads * headDim);
        const step = makeStep(steps['two sequences'] ?? [], random);
        const units = heads + 2 * kvHeads;
        // Rows of qkv may go on with columns of other ops.
        const qkvStride = units * headDim + 7;
        const qkv = store(type, random.floats(step.rows * qkvStride));
        const keys = randomPool(kvType, step, kvHeads, headDim, random);
        const values = randomPool(kvType, step, kvHeads, headDim, random);
        const rope =
          ropeCase === null ? null : makeRope(headDim, ropeCase.fraction, ropeCase.layout, 1.1);
        const spec = (count: number, offset: number): Norm | null =>
          kind === null
            ? null
            : {
                kind,
                weight: random.floats(wholeRow ? count * headDim : headDim),
                bias: kind === 'layer' ? random.floats(wholeRow ? count * headDim : headDim) : null,
                eps: 1e-6,
                offset,
              };
        const qNorm = spec(heads, 0);
        const kNorm = spec(kvHeads, 1);
        const fields = merge(
          stepFields(step),
          normFields('q_norm', qNorm),
          normFields('k_norm', kNorm),
          ropeFields(rope),
        );
        const result = await runner.run({
          op: 'attention_prepare',
          numbers: {
            ...fields.numbers,
            heads,
            kv_heads: kvHeads,
            key_dim: headDim,
            value_dim: headDim,
            kv_type: DTYPE[kvType],
            qkv_type: DTYPE[type],
            qkv_stride: qkvStride,
            is_whole_row: wholeRowNorm ? 1 : 0,
            out_type: DTYPE[type],
          },
          inputs: { ...fields.inputs, qkv: qkv.bytes },
          changed: { keys: keys.bytes, values: values.bytes },
          outputs: { out: byteSize(type, step.rows * heads * headDim) },
        });

        const unit = (row: number, u: number, count = 1) =>
          qkv.values.subarray(
            row * qkvStride + u * headDim,
            row * qkvStride + (u + count) * headDim,
          );
        /** Head `head` of the `count` that begin at unit `first`, normed and rotated. */
        const prepared = (
          row: number,
          first: number,
          count: number,
          head: number,
          n: Norm | null,
        ) => {
          const groups = wholeRowNorm ? 1 : count;
          const all = unit(row, first, count);
          const normed = n === null ? all : norm(all, count * headDim, groups, n);
          const x = normed.subarray(head * headDim, (head + 1) * headDim);
          return rope === null
            ? Float64Array.from(x)
            : rotate(x, step.positions[row] as number, rope);
        };
        const q = Array.from({ length: step.rows }, (_, row) =>
          Array.from({ length: heads }, (_, head) => [...prepared(row, 0, heads, head, qNorm)]),
        ).flat(2);
        const tolerance = TOLERANCE[type];
        assertClose(load(type, result.out as Buffer), q, tolerance, 'q');
        assertPool(
          result.keys,
          kvType,
          keys.values,
          step,
          kvHeads,
          headDim,
          tolerance,
          (row, head) => prepared(row, heads, kvHeads, head, kNorm),
        );
        const copied = kvType === 'f16' ? 1e-3 : 0;
        assertPool(
          result.values,
          kvType,
          values.values,
          step,
          kvHeads,
          headDim,
          copied,
          (row, head) => unit(row, heads + kvHeads + head),
        );
      });
    }
  }
});

describe('latent_prepare on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const [type, kvType] of TYPES) {
    for (const layout of ['half', 'interleaved'] as const) {
      it(`${layout}, ${type} over ${kvType}`, async () => {
        const random = new Random(5);
        const [heads, keyDim, valueDim, own] = [3, 56, 16, 40];
        const shared = keyDim - own;
        const step = makeStep(steps['two sequences'] ?? [], random);
        const rope = makeRope(shared, 1, layout, 1.2, own);
        // Queries and the shared key are columns of wider rows.
        const [qStride, qColumn] = [heads * keyDim + 5, 2];
        const [sharedStride, sharedColumn] = [shared + 30, 30];
        const kvStride = heads * (own + valueDim);
        const q = store(type, random.floats(step.rows * qStride));
        const kv = store(type, random.floats(step.rows * kvStride));
        const sharedKey = store(type, random.floats(step.rows * sharedStride));
        const keys = randomPool(kvType, step, heads, keyDim, random);
        const values = randomPool(kvType, step, heads, valueDim, random);
        const fields = merge(stepFields(step), ropeFields(rope));
        const result = await runner.run({
          op: 'latent_prepare',
          numbers: {
            ...fields.numbers,
            heads,
            kv_heads: heads,
            key_dim: keyDim,
            value_dim: valueDim,
            kv_type: DTYPE[kvType],
            q_type: DTYPE[type],
            q_stride: qStride,
            q_column: qColumn,
            shared_key_stride: sharedStride,
            shared_key_column: sharedColumn,
            out_type: DTYPE[type],
          },
          inputs: { ...fields.inputs, q: q.bytes, kv: kv.bytes, shared_key: sharedKey.bytes },
          changed: { keys: keys.bytes, values: values.bytes },
          outputs: { out: byteSize(type, step.rows * heads * keyDim) },
        });

        const run = (data: Float32Array, start: number, length: number) =>
          data.subarray(start, start + length);
        const turn = (x: ArrayLike<number>, row: number) =>
          rotate(x, step.positions[row] as number, rope);
        const query = (row: number, head: number) =>
          turn(run(q.values, row * qStride + qColumn + head * keyDim, keyDim), row);
        const key = (row: number, head: number) =>
          turn(
            [
              ...run(kv.values, row * kvStride + head * own, own),
              ...run(sharedKey.values, row * sharedStride + sharedColumn, shared),
            ],
            row,
          );
        const value = (row: number, head: number) =>
          run(kv.values, row * kvStride + heads * own + head * valueDim, valueDim);
        const expected = Array.from({ length: step.rows * heads }, (_, i) => [
          ...query(Math.floor(i / heads), i % heads),
        ]).flat();
        const tolerance = TOLERANCE[type];
        assertClose(load(type, result.out as Buffer), expected, tolerance, 'q');
        assertPool(result.keys, kvType, keys.values, step, heads, keyDim, tolerance, key);
        const copied = kvType === 'f16' ? 1e-3 : 0;
        assertPool(result.values, kvType, values.values, step, heads, valueDim, copied, value);
      });
    }
  }
});
