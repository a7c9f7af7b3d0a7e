import { describe, test } from 'node:test';
import { BLOCK_TYPES } from '../../extension/engine/loading/weights';
import { assertMatchesReference, MAX_TOKENS, randomTokens, TestProgram } from './harness';
import { codingName, type Coding } from './weights';

const affine = (
  bits: number,
  groupSize: number,
  scales: 'F32' | 'F16' | 'BF16' = 'BF16',
): Coding => ({
  bits,
  groupSize,
  scales,
});

const steps = (vocab: number, counts: readonly number[]) =>
  counts.map((count) => [{ tokens: randomTokens(count, vocab), start: 0 }]);

describe('linear', () => {
  const codings: Coding[] = [
    'F32',
    'F16',
    'BF16',
    ...[2, 3, 4, 5, 6, 8].map((bits) => affine(bits, 64)),
    affine(4, 32),
    affine(4, 128),
    affine(8, 32, 'F16'),
    affine(4, 64, 'F16'),
    affine(4, 64, 'F32'),
    affine(8, 128, 'F32'),
    ...BLOCK_TYPES.map((blocks) => ({ blocks })),
    ...(['mxfp4', 'mxfp8', 'nvfp4'] as const).map((mode) => ({ mode })),
  ];
  for (const coding of codings) {
    test(`multiplies by weights of ${codingName(coding)}`, async () => {
      const program = new TestProgram();
      const rows = 137; // the last block of 16 rows has 9
      const out = program.linear(program.embed(rows, 256), rows, coding);
      // Every tile size: 15 = 8 + 4 + 2 + 1 rows, and more than one panel.
      const counts = steps(rows, [1, 15, MAX_TOKENS]);
      await assertMatchesReference(program, program.finish(out), counts);
    });
  }

  test('takes any number of columns from float weights', async () => {
    const program = new TestProgram();
    const out = program.linear(program.embed(65, 131), 65, 'BF16');
    await assertMatchesReference(program, program.finish(out), steps(65, [1, 7]), {
      fastTolerance: 1e-5,
    });
  });

  test('multiplies, activates and adds the residual in this order, from a column on', async () => {
    const program = new TestProgram();
    const x = program.embed(100, 192);
    const out = program.value(100);
    program.push({
      op: 'linear',
      x,
      weights: [program.matrix(60, 128, affine(4, 32), 0.3), program.matrix(40, 128, 'F16', 0.3)],
      biases: [program.vector(60), null],
      norm: null,
      residual: program.linear(x, 100),
      column: 33,
      factor: 0.37,
      activation: 'gelu_tanh',
      out,
    });
    await assertMatchesReference(program, program.finish(out), steps(100, [1, 13, MAX_TOKENS]));
  });

  for (const coding of ['F32', affine(8, 64)] as Coding[]) {
    for (const hasNorm of [false, true]) {
      const name = `${hasNorm ? 'and norms' : 'without norm'}, ${codingName(coding)}`;
      test(`joins the residual stream first, ${name}`, async () => {
        const program = new TestProgram();
        const residual = program.embed(128, 128);
        const x = program.linear(residual, 128);
        const [sum, wide, out] = [program.value(128), program.value(128), program.value(128)];
        program.push({
          op: 'linear',
          x,
          weights: [program.matrix(128, 128, coding, 0.3)],
          biases: [null],
          norm: hasNorm ? program.rmsNorm(128) : null,
          residual: null,
          join: { residual, norm: program.rmsNorm(128, 1), sum },
          out: wide,
        });
        program.push({ op: 'add', a: wide, b: sum, out });
        await assertMatchesReference(program, program.finish(out), steps(128, [1, 11, 70]));
      });
    }
  }

  test('joins weights of several codings, with norm, biases and residual', async () => {
    const program = new TestProgram();
    const x = program.embed(120, 128);
    const residual = program.linear(x, 120, 'F32');
    const out = program.value(120);
    program.push({
      op: 'linear',
      x,
      weights: [
        program.matrix(24, 128, affine(4, 32), 0.3),
        program.matrix(60, 128, affine(8, 64), 0.3),
        program.matrix(36, 128, 'BF16', 0.3),
      ],
      biases: [program.vector(24), null, program.vector(36)],
      norm: { ...program.rmsNorm(128), kind: 'layer', bias: program.vector(128) },
      residual,
      out,
    });
    await assertMatchesReference(program, program.finish(out), steps(120, [1, 5, 64]));
  });
});
