import { after, before, describe, it } from 'node:test';
import { BLOCK, makeStep, slotOf, stepFields, type Step } from './batch';
import { storeRows, type KvType } from './kv_pool';
import { assertClose, byteSize, load, Random, store, TOLERANCE } from './numbers';
import { DTYPE, merge, Runner, skip } from './runner';

interface Case {
  readonly heads: number;
  readonly kvHeads: number;
  readonly keyDim: number;
  readonly valueDim?: number;
  readonly sequences: readonly { readonly past: number; readonly rows: number }[];
  readonly type?: 'f32' | 'f16';
  /** Of keys and values; default: the same. */
  readonly kvType?: KvType;
  readonly window?: number;
  readonly softcap?: number;
  readonly sinks?: boolean;
  /** A gate in columns of wider rows. */
  readonly gate?: boolean;
}

/** Attention in float64, a row and head at a time. */
function attend(
  test: Case,
  step: Step,
  scale: number,
  q: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  sinks: Float32Array | null,
): Float64Array {
  const { heads, kvHeads, keyDim, valueDim = keyDim, window = 0, softcap = 0 } = test;
  const out = new Float64Array(step.rows * heads * valueDim);
  for (let row = 0; row < step.rows; row++) {
    const sequence = step.sequenceOf[row] as number;
    const position = step.positions[row] as number;
    const first = window === 0 ? 0 : Math.max(0, position - window + 1);
    for (let head = 0; head < heads; head++) {
      const kvHead = Math.floor((head * kvHeads) / heads);
      const query = (row * heads + head) * keyDim;
      const scores: number[] = [];
      for (let p = first; p <= position; p++) {
        const key = slotOf(step, sequence, p, kvHeads, kvHead, keyDim);
        let sum = 0;
        for (let i = 0; i < keyDim; i++)
          sum += (q[query + i] as number) * (keys[key + i] as number);
        scores.push(softcap === 0 ? sum * scale : softcap * Math.tanh((sum * scale) / softcap));
      }
      const sink = sinks === null ? -Infinity : (sinks[head] as number);
      const highest = scores.reduce((a, b) => Math.max(a, b), sink);
      let total = Math.exp(sink - highest);
      const target = (row * heads + head) * valueDim;
      for (const [j, score] of scores.entries()) {
        const weight = Math.exp(score - highest);
        total += weight;
        const value = slotOf(step, sequence, first + j, kvHeads, kvHead, valueDim);
        for (let i = 0; i < valueDim; i++) {
          out[target + i] = (out[target + i] as number) + weight * (values[value + i] as number);
        }
      }
      for (let i = 0; i < valueDim; i++) out[target + i] = (out[target + i] as number) / total;
    }
  }
  return out;
}

async function check(runner: Runner, test: Case): Promise<void> {
  const { heads, kvHeads, keyDim, valueDim = keyDim, type = 'f32', window = 0, softcap = 0 } = test;
  const { kvType = type } = test;
  const random = new Random(heads * keyDim + window);
  const step = makeStep(test.sequences, random);
  const q = store(type, random.floats(step.rows * heads * keyDim, 2));
  const slots = step.blocks * kvHeads * BLOCK;
  const keys = storeRows(kvType, random.floats(slots * keyDim, 2), keyDim);
  const values = storeRows(kvType, random.floats(slots * valueDim), valueDim);
  const sinks = test.sinks ? random.floats(heads, 4) : null;
  const width = heads * valueDim;
  const gate = test.gate ? store(type, random.floats(step.rows * (width + 10), 3)) : null;
  const scale = 1 / Math.sqrt(keyDim);
  const fields = merge(stepFields(step), {
    numbers: {
      heads,
      kv_heads: kvHeads,
      key_dim: keyDim,
      value_dim: valueDim,
      kv_type: DTYPE[kvType],
      q_type: DTYPE[type],
      out_type: DTYPE[type],
      scale,
      window,
      softcap,
      gate_type: DTYPE[type],
      gate_stride: width + 10,
      gate_column: 3,
    },
    inputs: {
      offsets: step.offsets,
      q: q.bytes,
      keys: keys.bytes,
      values: values.bytes,
      ...(sinks ? { sinks } : {}),
      ...(gate ? { gate: gate.bytes } : {}),
    },
  });
  const outputs = { out: byteSize(type, step.rows * heads * valueDim) };
  const { out } = await runner.run({ op: 'attention', ...fields, outputs });
  const expected = attend(test, step, scale, q.values, keys.values, values.values, sinks).map(
    (value, i) => {
      const at = Math.floor(i / width) * (width + 10) + 3 + (i % width);
      return gate === null ? value : value / (1 + Math.exp(-(gate.values[at] as number)));
    },
  );
  assertClose(load(type, out as Buffer), expected, TOLERANCE[type], 'out');
}

/** The types of queries and results, and of keys and values. */
const TYPES = [
  { type: 'f32' },
  { type: 'f16' },
  { type: 'f32', kvType: 'i8' },
  { type: 'f16', kvType: 'i8' },
] as const satisfies readonly Partial<Case>[];
const nameOf = ({ type, kvType }: Partial<Case>) =>
  `${type}${kvType === 'i8' ? ' over 8 bits' : ''}`;

const DIMS = [16, 32, 64, 80, 96, 128, 192, 256];

describe('attention on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const types of TYPES) {
    for (const keyDim of DIMS) {
      it(`heads of ${keyDim}, decoding and prefill, ${nameOf(types)}`, async () => {
        const sequences = [
          { past: 70, rows: 1 },
          { past: 0, rows: 41 },
          { past: 33, rows: 3 },
          { past: 21, rows: 9 },
        ];
        await check(runner, { heads: 4, kvHeads: 2, keyDim, sequences, ...types });
      });
    }
  }

  for (const type of ['f32', 'f16'] as const) {
    it(`groups of 8 bits that are not full, ${type}`, async () => {
      const sequences = [
        { past: 70, rows: 1 },
        { past: 21, rows: 9 },
      ];
      for (const keyDim of [8, 24, 40, 48, 56, 72, 136, 232, 248]) {
        const valueDim = keyDim === 8 ? 72 : keyDim - 8;
        await check(runner, {
          heads: 4,
          kvHeads: 2,
          keyDim,
          valueDim,
          sequences,
          type,
          kvType: 'i8',
        });
      }
    });
  }

  for (const [heads, kvHeads] of [
    [1, 1],
    [3, 1],
    [7, 1],
    [11, 1],
    [14, 2],
    [8, 8],
    [16, 2],
    [40, 1],
  ] as const) {
    it(`${heads} heads over ${kvHeads}`, async () => {
      for (const keyDim of [64, 256]) {
        const sequences = [
          { past: 100, rows: 2 },
          { past: 5, rows: 12 },
        ];
        await check(runner, { heads, kvHeads, keyDim, sequences });
        await check(runner, { heads, kvHeads, keyDim, sequences, kvType: 'i8' });
        await check(runner, { heads, kvHeads, keyDim, sequences, type: 'f16', kvType: 'i8' });
      }
    });
  }

  it('every context from 1 to 70, and to 5000', async () => {
    for (let past = 0; past < 70; past++) {
      await check(runner, { heads: 2, kvHeads: 1, keyDim: 32, sequences: [{ past, rows: 1 }] });
    }
    for (const past of [1022, 1023, 1024, 1025, 2047, 4999]) {
      for (const types of TYPES) {
        await check(runner, {
          heads: 4,
          kvHeads: 2,
          keyDim: 64,
          sequences: [{ past, rows: 1 }],
          ...types,
        });
      }
    }
  });

  it('prefill after a long past', async () => {
    for (const rows of [9, 16, 33]) {
      for (const types of TYPES) {
        const sequences = [{ past: 1500, rows }];
        await check(runner, { heads: 2, kvHeads: 1, keyDim: 64, sequences, ...types });
      }
    }
  });

  for (const variant of [
    { window: 1 },
    { window: 17 },
    { window: 40 },
    { softcap: 5 },
    { sinks: true },
    { gate: true },
    { window: 20, softcap: 3, sinks: true },
  ]) {
    it(`with ${JSON.stringify(variant)}`, async () => {
      for (const past of [0, 15, 60, 1500]) {
        const sequences = [
          { past, rows: 2 },
          { past, rows: 11 },
        ];
        const test: Case = { heads: 6, kvHeads: 2, keyDim: 64, sequences, ...variant };
        await check(runner, test);
        await check(runner, { ...test, kvType: 'i8' });
      }
    });
  }

  it('values of another dimension than keys', async () => {
    const sequences = [
      { past: 1200, rows: 1 },
      { past: 20, rows: 10 },
    ];
    for (const types of TYPES) {
      await check(runner, {
        heads: 4,
        kvHeads: 1,
        keyDim: 192,
        valueDim: 128,
        sequences,
        ...types,
      });
      await check(runner, { heads: 4, kvHeads: 4, keyDim: 24, valueDim: 16, sequences, ...types });
    }
  });

  it('many heads of halves, in matrices', async () => {
    const sequences = [
      { past: 1300, rows: 1 },
      { past: 20, rows: 2 },
    ];
    for (const variant of [{}, { window: 40, sinks: true }, { softcap: 5, gate: true }]) {
      for (const [heads, kvHeads] of [
        [8, 1],
        [22, 2],
      ] as const) {
        for (const kvType of ['f16', 'i8'] as const) {
          const types = { type: 'f16', kvType } as const;
          const test: Case = { heads, kvHeads, keyDim: 128, sequences, ...types, ...variant };
          await check(runner, test);
          await check(runner, { ...test, keyDim: 64, valueDim: 128 });
        }
      }
    }
  });

  // From one split of the keys to a tile of 32 for each simdgroup.
  for (const simdgroups of [16, 4096]) {
    it(`a GPU that ${simdgroups} simdgroups keep busy`, async () => {
      const other = await Runner.start({ simdgroups });
      try {
        for (const past of [1024, 1055, 1056, 3000]) {
          const sequences = [
            { past, rows: 2 },
            { past: 40, rows: 1 },
          ];
          const test: Case = { heads: 14, kvHeads: 2, keyDim: 128, sequences, type: 'f16' };
          await check(other, test);
          await check(other, { ...test, window: 1100, sinks: true, keyDim: 64, heads: 16 });
          await check(other, { ...test, type: 'f32', keyDim: 192, valueDim: 128, kvHeads: 7 });
          await check(other, { ...test, kvType: 'i8' });
        }
      } finally {
        other.stop();
      }
    });
  }
});
