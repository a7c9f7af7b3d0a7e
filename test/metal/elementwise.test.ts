import { after, before, describe, it } from 'node:test';
import { activate } from '../../extension/engine/backend/reference/activation';
import type { Activation } from '../../extension/engine/core/program';
import { assertClose, byteSize, load, Random, store, TOLERANCE } from './numbers';
import { DTYPE, Runner, skip } from './runner';

const ACTIVATIONS: readonly Activation[] = [
  'silu',
  'gelu',
  'gelu_tanh',
  'relu',
  'sigmoid',
  'swiglu_oai',
];

describe('elementwise kernels on the soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  for (const type of ['f32', 'f16'] as const) {
    for (const [index, name] of ACTIVATIONS.entries()) {
      for (const hasUp of name === 'swiglu_oai' ? [true] : [true, false]) {
        it(`activation ${name}${hasUp ? ' times up' : ''} in ${type}`, async () => {
          const random = new Random(index + 1);
          const count = 777;
          const gate = store(type, random.floats(count, 12));
          const up = store(type, random.floats(count, 2));
          const { out } = await runner.run({
            op: 'activation',
            numbers: {
              count,
              activation: index + 1,
              gate_type: DTYPE[type],
              up_type: DTYPE[type],
              out_type: DTYPE[type],
            },
            inputs: { gate: gate.bytes, ...(hasUp ? { up: up.bytes } : {}) },
            outputs: { out: byteSize(type, count) },
          });
          const expected = new Float32Array(count);
          activate(name, gate.values, hasUp ? up.values : null, expected);
          assertClose(load(type, out as Buffer), expected, TOLERANCE[type], name);
        });
      }
    }

    it(`add in ${type}`, async () => {
      const random = new Random(9);
      const count = 1025;
      const a = store(type, random.floats(count));
      const b = store(type, random.floats(count));
      const { out } = await runner.run({
        op: 'add',
        numbers: { count, a_type: DTYPE[type], b_type: DTYPE[type], out_type: DTYPE.f32 },
        inputs: { a: a.bytes, b: b.bytes },
        outputs: { out: byteSize('f32', count) },
      });
      const expected = Array.from(a.values, (x, i) => x + (b.values[i] as number));
      assertClose(load('f32', out as Buffer), expected, 1e-6, 'add');
    });

    for (const softcap of [0, 3]) {
      it(`scale with softcap ${softcap} in ${type}`, async () => {
        const count = 300;
        const x = store(type, new Random(11).floats(count, 40));
        const { out } = await runner.run({
          op: 'scale',
          numbers: { count, factor: 0.7, softcap, x_type: DTYPE[type], out_type: DTYPE.f32 },
          inputs: { x: x.bytes },
          outputs: { out: byteSize('f32', count) },
        });
        const expected = Array.from(x.values, (v) =>
          softcap === 0 ? v * 0.7 : softcap * Math.tanh((v * 0.7) / softcap),
        );
        assertClose(load('f32', out as Buffer), expected, TOLERANCE.f32, 'scale');
      });
    }

    it(`gather_rows in ${type}`, async () => {
      const columns = 130;
      const x = store(type, new Random(13).floats(7 * columns));
      const indices = Int32Array.of(0, 3, 6);
      const { out } = await runner.run({
        op: 'gather_rows',
        numbers: { rows: 3, columns, x_type: DTYPE[type], out_type: DTYPE.f32 },
        inputs: { x: x.bytes, indices },
        outputs: { out: byteSize('f32', 3 * columns) },
      });
      const expected = [...indices].flatMap((row) => [
        ...x.values.subarray(row * columns, (row + 1) * columns),
      ]);
      assertClose(load('f32', out as Buffer), expected, 0, 'gather_rows');
    });
  }
});
