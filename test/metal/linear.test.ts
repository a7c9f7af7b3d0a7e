import { after, before, describe, it } from 'node:test';
import { activate } from '../../extension/engine/backend/reference/activation';
import type { Activation } from '../../extension/engine/core/program';
import { assertClose, load, Random, store, TOLERANCE } from './numbers';
import { norm, normFields, type Norm } from './oracle';
import { DTYPE, merge, Runner, skip } from './runner';
import { formatName, makeWeight, product, type Format } from './weight';

interface Case {
  readonly rows: number;
  readonly columns: number;
  readonly outputs: number;
  readonly format: Format;
  readonly type?: 'f32' | 'f16';
  readonly norm?: 'rms' | 'layer';
  readonly bias?: boolean;
  readonly residual?: boolean;
  /** silu(gate) * up, rows side by side or one half after the other. */
  readonly glu?: 'interleaved' | 'halves';
  /** x and the outputs are parts of wider rows. */
  readonly isPart?: boolean;
  /** x first joins a residual stream. */
  readonly join?: boolean;
  readonly factor?: number;
  readonly activation?: Activation;
}

const ACTIVATIONS = ['silu', 'gelu', 'gelu_tanh', 'relu', 'sigmoid', 'swiglu_oai'] as const;

async function check(runner: Runner, test: Case, seed: number): Promise<void> {
  const { rows, columns, outputs, format, type = 'f32', glu, factor = 1 } = test;
  const activation = test.activation ?? (glu ? 'silu' : undefined);
  const random = new Random(seed);
  const weight = makeWeight(glu ? 2 * outputs : outputs, columns, format, random);
  const [xColumn, xColumns] = test.isPart ? [4, columns + 8] : [0, columns];
  const stored = store(type, random.floats(rows * xColumns));
  let x = Float64Array.from({ length: rows * columns }, (_, i) => {
    const row = Math.floor(i / columns);
    return stored.values[row * xColumns + xColumn + (i % columns)] as number;
  });
  const makeNorm = (kind: Norm['kind']): Norm => ({
    kind,
    weight: random.floats(columns),
    bias: kind === 'layer' ? random.floats(columns) : null,
    eps: 1e-6,
    offset: seed % 2,
  });
  const spec = test.norm === undefined ? null : makeNorm(test.norm);
  const join = test.join ? makeNorm('rms') : null;
  const joinResidual = test.join ? random.floats(rows * columns) : null;
  const bias = test.bias ? random.floats(weight.rows) : null;
  const [outColumn, outColumns] = test.isPart ? [3, outputs + 5] : [0, outputs];
  const residual = test.residual ? random.floats(rows * outColumns) : null;
  const before = store(type, random.floats(rows * outColumns));
  const gateStep = glu === 'interleaved' ? 2 : 1;
  const upOffset = glu === 'interleaved' ? 1 : outputs;
  const fields = merge(weight.fields, normFields('norm', spec), normFields('join', join), {
    numbers: {
      rows,
      outputs,
      x_type: DTYPE[type],
      x_stride: xColumns,
      x_column: xColumn,
      out_type: DTYPE[type],
      out_stride: outColumns,
      out_column: outColumn,
      factor,
      activation: activation === undefined ? 0 : ACTIVATIONS.indexOf(activation) + 1,
      is_glu: glu ? 1 : 0,
      gate_step: gateStep,
      up_offset: upOffset,
    },
    inputs: {
      x: stored.bytes,
      ...(bias ? { bias } : {}),
      ...(residual ? { residual } : {}),
      ...(joinResidual ? { join_residual: joinResidual } : {}),
    },
  });
  const { out, join_sum: joined } = await runner.run({
    op: 'linear',
    ...fields,
    changed: { out: before.bytes },
    outputs: join ? { join_sum: rows * columns * 4 } : {},
  });

  if (join && joinResidual) {
    x = norm(x, columns, 1, join).map((v, i) => v + (joinResidual[i] as number));
    assertClose(load('f32', joined as Buffer), x, TOLERANCE.f32, 'join');
  }
  const sums = product(spec === null ? x : norm(x, columns, 1, spec), weight);
  const expected = Float64Array.from(before.values);
  const one = new Float32Array(1);
  for (let row = 0; row < rows; row++) {
    for (let n = 0; n < outputs; n++) {
      const at = n * (glu ? gateStep : 1);
      const sum = (i: number) =>
        factor * ((sums[row * weight.rows + i] as number) + (bias?.[i] ?? 0));
      let value = sum(at);
      if (activation !== undefined) {
        const up = glu ? Float32Array.of(sum(at + upOffset)) : null;
        activate(activation, Float32Array.of(value), up, one);
        value = one[0] as number;
      }
      const index = row * outColumns + outColumn + n;
      expected[index] = value + (residual?.[index] ?? 0);
    }
  }
  assertClose(load(type, out as Buffer), expected, TOLERANCE[type], 'out');
}

const affine = (
  bits: number,
  groupSize = 64,
  scaleType: 'f32' | 'f16' | 'bf16' = 'f16',
): Format => ({
  type: 'affine',
  bits,
  groupSize,
  scaleType,
});

const FORMATS: readonly Format[] = [
  ...[2, 3, 4, 5, 6, 8].map((bits) => affine(bits)),
  affine(4, 32, 'bf16'),
  affine(3, 128, 'f32'),
  affine(8, 32, 'f32'),
  affine(2, 16, 'f32'),
  affine(3, 16),
  affine(5, 16, 'bf16'),
  affine(6, 16),
  { type: 'f32' },
  { type: 'f16' },
  { type: 'bf16' },
];

describe('linear on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const format of FORMATS) {
    // One row, both ends of the small batch, and tiles; one output more than tiles hold.
    for (const rows of [1, 2, 8, 17, 33]) {
      it(`${rows} x 384 to 37, ${formatName(format)}`, async () => {
        const test = { rows, columns: 384, outputs: 37, format, norm: 'rms' } as const;
        await check(runner, test, rows);
      });
    }
  }

  it('every number of outputs from 1 to 40', async () => {
    for (let outputs = 1; outputs <= 40; outputs++) {
      for (const rows of [1, 3, 18]) {
        await check(runner, { rows, columns: 64, outputs, format: affine(4) }, outputs);
      }
    }
  });

  it('every number of rows from 1 to 20, and 130', async () => {
    for (const rows of [...Array.from({ length: 20 }, (_, i) => i + 1), 130]) {
      await check(runner, { rows, columns: 96, outputs: 70, format: affine(4, 32) }, rows);
    }
  });

  it('columns that fill no vector, block or tile', async () => {
    for (const columns of [1, 3, 7, 8, 20, 33, 129, 257, 1000]) {
      for (const rows of [1, 5, 19]) {
        const format = { type: 'f16' } as const;
        await check(runner, { rows, columns, outputs: 9, format, norm: 'rms' }, columns);
      }
    }
    for (const columns of [32, 96, 160, 544, 1056]) {
      for (const rows of [1, 5, 19]) {
        for (const bits of [4, 5]) {
          for (const groupSize of [16, 32]) {
            const format = affine(bits, groupSize);
            await check(runner, { rows, columns, outputs: 9, format }, columns);
          }
        }
      }
    }
  });

  for (const type of ['f32', 'f16'] as const) {
    for (const rows of [1, 6, 40]) {
      it(`norm, bias and residual, ${rows} rows, ${type}`, async () => {
        for (const kind of ['rms', 'layer', undefined] as const) {
          const test: Case = {
            rows,
            columns: 256,
            outputs: 50,
            format: affine(4),
            type,
            bias: true,
            residual: true,
            isPart: true,
            ...(kind ? { norm: kind } : {}),
          };
          await check(runner, test, rows);
        }
      });

      for (const glu of ['interleaved', 'halves'] as const) {
        it(`glu of ${glu} rows, ${rows} rows, ${type}`, async () => {
          for (const outputs of [1, 31, 48, 65]) {
            const test: Case = {
              rows,
              columns: 256,
              outputs,
              format: affine(4),
              type,
              glu,
              norm: 'rms',
            };
            await check(runner, test, outputs);
          }
        });
      }
    }
  }

  it('a join with the residual stream, before every norm and none', async () => {
    for (const rows of [1, 4, 20]) {
      for (const columns of [96, 1024]) {
        const test = { rows, columns, outputs: 21, format: affine(4, 32), join: true } as const;
        await check(runner, test, rows);
        await check(runner, { ...test, norm: 'rms' }, rows);
        await check(runner, { ...test, norm: 'layer', glu: 'halves' }, rows);
      }
    }
  });

  it('a factor, every activation, and biases of gates and ups', async () => {
    for (const rows of [1, 4, 20]) {
      for (const activation of ACTIVATIONS) {
        const test: Case = {
          rows,
          columns: 64,
          outputs: 19,
          format: affine(4),
          activation,
          bias: true,
        };
        await check(runner, { ...test, glu: 'interleaved' }, rows);
        await check(runner, { ...test, glu: 'halves' }, rows);
        if (activation !== 'swiglu_oai') await check(runner, { ...test, factor: 0.3 }, rows);
      }
    }
  });

  it('sums of one output that several simdgroups or threadgroups share', async () => {
    for (const rows of [1, 20]) {
      await check(
        runner,
        { rows, columns: 4096, outputs: 20, format: affine(4), norm: 'rms' },
        rows,
      );
      await check(
        runner,
        { rows, columns: 2048, outputs: 12, format: affine(4), glu: 'halves' },
        rows,
      );
      await check(
        runner,
        { rows, columns: 4128, outputs: 33, format: affine(6, 32), bias: true },
        rows,
      );
    }
  });

  it('few rows of halves: panels of x, every coding of scales', async () => {
    for (const scaleType of ['f32', 'f16', 'bf16'] as const) {
      for (const groupSize of [64, 128]) {
        for (const columns of [128, 640, 2560]) {
          const format = affine(4, groupSize, scaleType);
          const test: Case = { rows: 5, columns, outputs: 75, format, type: 'f16' };
          await check(runner, { ...test, residual: true }, columns);
          await check(runner, { ...test, norm: 'rms', glu: 'halves' }, columns);
        }
      }
    }
  });

  it('one row of halves in slices: tails, last rows, every coding of scales', async () => {
    for (const scaleType of ['f32', 'f16', 'bf16'] as const) {
      for (const groupSize of [64, 128]) {
        const format = affine(4, groupSize, scaleType);
        for (const columns of [128, 512, 640, 1152]) {
          // Less than a lane's rows, a whole tile, and one output to either side of it.
          for (const outputs of [3, 4, 7, 8, 9, 16, 17]) {
            const test: Case = { rows: 1, columns, outputs, format, type: 'f16' };
            await check(runner, { ...test, residual: true }, outputs);
            await check(runner, { ...test, norm: 'rms', bias: true }, outputs);
          }
        }
      }
    }
  });

  it('one row of halves: a slice a simdgroup, and several from 4097 columns on', async () => {
    for (const columns of [64, 4096, 4160, 9728, 15360, 15424]) {
      for (const type of ['f16', 'f32'] as const) {
        const test: Case = { rows: 1, columns, outputs: 19, format: affine(4), type };
        await check(runner, { ...test, norm: 'rms', residual: true }, columns);
        if (type === 'f16') await check(runner, { ...test, bias: true, factor: 0.5 }, columns);
      }
    }
  });

  it('a few rows of halves that no norm changes: every number of rows, odd tiles', async () => {
    for (let rows = 2; rows <= 9; rows++) {
      for (const outputs of [1, 8, 16, 17, 75]) {
        const columns = 128 * rows;
        const test: Case = { rows, columns, outputs, format: affine(4), type: 'f16' };
        await check(runner, { ...test, residual: true, bias: true }, outputs);
      }
    }
    for (const columns of [128, 2048, 2176, 4352]) {
      const format = affine(4, 128, 'bf16');
      const test: Case = { rows: 8, columns, outputs: 33, format, type: 'f16' };
      await check(runner, { ...test, activation: 'silu' }, columns);
    }
  });

  it('a few rows that a norm makes halves: every number of rows, odd tiles', async () => {
    for (let rows = 2; rows <= 9; rows++) {
      for (const outputs of [1, 16, 17, 75]) {
        const columns = 128 * rows;
        const test: Case = { rows, columns, outputs, format: affine(4), norm: 'rms', bias: true };
        await check(runner, { ...test, type: 'f16', isPart: true }, outputs);
        if (outputs < 75) await check(runner, { ...test, residual: true }, outputs);
      }
    }
    for (const columns of [128, 1536, 1664, 3200]) {
      const format = affine(4, 128, 'f16');
      const test: Case = { rows: 8, columns, outputs: 33, format, type: 'f16', norm: 'rms' };
      await check(runner, { ...test, activation: 'silu', factor: 0.5 }, columns);
    }
  });

  // 16 simdgroups a core: two to six tiles of outputs a threadgroup, and too many.
  for (const simdgroups of [16, 48]) {
    it(`weights around the largest that ${simdgroups} simdgroups take as a small one`, async () => {
      const other = await Runner.start({ simdgroups });
      try {
        const cores = simdgroups / 16;
        for (const tiles of [2, 3, 4, 5, 6, 7]) {
          for (const extra of [-1, 0, 1]) {
            const outputs = 8 * tiles * cores + extra;
            const test: Case = { rows: 6, columns: 256, outputs, format: affine(4), type: 'f16' };
            await check(other, { ...test, residual: true }, outputs);
            await check(other, { ...test, norm: 'rms' }, outputs);
          }
        }
        const most = (3 * 8192 * simdgroups) / 2048;
        for (const outputs of [most - 1, most]) {
          const test: Case = { rows: 1, columns: 2048, outputs, format: affine(4), type: 'f16' };
          await check(other, test, outputs);
        }
      } finally {
        other.stop();
      }
    });
  }

  // From one simdgroup an output and four rows a lane to eight and two, from x shared by four simdgroups to x of each.
  for (const simdgroups of [1, 640, 8192]) {
    it(`a GPU that ${simdgroups} simdgroups keep busy`, async () => {
      const other = await Runner.start({ simdgroups });
      try {
        for (const rows of [1, 2, 7, 8, 16]) {
          for (const columns of [512, 1088, 2304]) {
            const test: Case = { rows, columns, outputs: 75, format: affine(4), norm: 'rms' };
            await check(other, test, columns);
            await check(other, { ...test, outputs: 70, glu: 'halves', type: 'f16' }, columns);
          }
          const odd: Case = { rows, columns: 672, outputs: 41, format: affine(3, 32), bias: true };
          await check(other, odd, rows);
          const dense: Case = { rows, columns: 1001, outputs: 30, format: { type: 'bf16' } };
          await check(other, { ...dense, residual: true }, rows);
        }
      } finally {
        other.stop();
      }
    });
  }
});
