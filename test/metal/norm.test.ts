import { after, before, describe, it } from 'node:test';
import { assertClose, byteSize, load, Random, store, TOLERANCE } from './numbers';
import { norm, normFields, type Norm } from './oracle';
import { DTYPE, Runner, skip } from './runner';

describe('norm on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  const cases = [
    { rows: 1, columns: 1, groups: 1 },
    { rows: 3, columns: 130, groups: 1 },
    { rows: 2, columns: 1025, groups: 1 },
    { rows: 1, columns: 4097, groups: 1 },
    { rows: 5, columns: 6 * 96, groups: 6 },
    { rows: 2, columns: 7 * 31, groups: 7, wholeRowWeight: true },
  ];
  for (const kind of ['rms', 'layer'] as const) {
    for (const type of ['f32', 'f16'] as const) {
      for (const [index, { rows, columns, groups, wholeRowWeight = false }] of cases.entries()) {
        it(`${kind} of ${rows} x ${columns} in ${groups} groups, ${type}`, async () => {
          const random = new Random(100 + index);
          const x = store(type, random.floats(rows * columns, 3));
          const size = wholeRowWeight ? columns : columns / groups;
          const hasWeight = index !== 1;
          const spec: Norm = {
            kind,
            weight: hasWeight ? random.floats(size) : null,
            bias: kind === 'layer' ? random.floats(size) : null,
            eps: 1e-5,
            offset: index % 2,
          };
          const fields = normFields('norm', spec);
          const { out } = await runner.run({
            op: 'norm',
            numbers: {
              ...fields.numbers,
              rows,
              columns,
              groups,
              x_type: DTYPE[type],
              out_type: DTYPE[type],
            },
            inputs: { ...fields.inputs, x: x.bytes },
            outputs: { out: byteSize(type, rows * columns) },
          });
          const expected = norm(x.values, columns, groups, spec);
          assertClose(load(type, out as Buffer), expected, TOLERANCE[type], 'norm');
        });
      }
    }
  }

  it('takes columns of wider rows, a gate and a residual', async () => {
    for (const type of ['f32', 'f16'] as const) {
      const random = new Random(7);
      const [rows, columns, groups] = [3, 4 * 40, 4];
      const x = store(type, random.floats(rows * (columns + 6)));
      const gate = store(type, random.floats(rows * (columns + 9), 3));
      const residual = random.floats(rows * columns);
      const spec: Norm = {
        kind: 'rms',
        weight: random.floats(40),
        bias: null,
        eps: 1e-6,
        offset: 0,
      };
      const fields = normFields('norm', spec);
      const { out } = await runner.run({
        op: 'norm',
        numbers: {
          ...fields.numbers,
          rows,
          columns,
          groups,
          x_type: DTYPE[type],
          x_stride: columns + 6,
          x_column: 5,
          gate_type: DTYPE[type],
          gate_stride: columns + 9,
          gate_column: 2,
          activation: 1,
        },
        inputs: { ...fields.inputs, x: x.bytes, gate: gate.bytes, residual },
        outputs: { out: rows * columns * 4 },
      });
      const part = (values: Float32Array, stride: number, column: number) =>
        Array.from({ length: rows * columns }, (_, i) => {
          return values[Math.floor(i / columns) * stride + column + (i % columns)] as number;
        });
      const gates = part(gate.values, columns + 9, 2);
      const expected = norm(part(x.values, columns + 6, 5), columns, groups, spec).map((v, i) => {
        const g = gates[i] as number;
        return v * (g / (1 + Math.exp(-g))) + (residual[i] as number);
      });
      assertClose(load('f32', out as Buffer), expected, TOLERANCE[type], 'norm');
    }
  });
});
