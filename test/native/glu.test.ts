import { describe, test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';
import { codingName, type Coding } from './weights';

describe('glu', () => {
  const codings: Coding[] = ['BF16', { bits: 4, groupSize: 64, scales: 'BF16' }];
  for (const coding of codings) {
    for (const activation of ['silu', 'gelu_tanh'] as const) {
      test(`${activation}, weights of ${codingName(coding)}`, async () => {
        const program = new TestProgram();
        const x = program.embed(75, 192);
        const gate = program.matrix(75, 192, coding, 0.3);
        const up = program.matrix(75, 192, coding, 0.3);
        const out = program.value(75);
        program.push({ op: 'glu', x, gate, up, activation, norm: program.rmsNorm(192), out });
        const steps = [1, 14, 70].map((count) => [{ tokens: randomTokens(count, 75), start: 0 }]);
        await assertMatchesReference(program, program.finish(out), steps);
      });
    }
  }
});

for (const activation of ['silu', 'swiglu_oai'] as const) {
  test(`glu with biases and a join: ${activation}`, async () => {
    const program = new TestProgram();
    const coding = { bits: 4, groupSize: 64, scales: 'F16' } as const;
    const residual = program.embed(90, 128);
    const x = program.linear(residual, 128);
    const [sum, out] = [program.value(128), program.value(90)];
    program.push({
      op: 'glu',
      x,
      gate: program.matrix(90, 128, coding, 0.6),
      up: program.matrix(90, 128, 'BF16', 0.6),
      gateBias: program.vector(90),
      upBias: program.vector(90, 1),
      activation,
      norm: program.rmsNorm(128),
      join: { residual, norm: program.rmsNorm(128), sum },
      out,
    });
    const steps = [1, 37].map((count) => [{ tokens: randomTokens(count, 90), start: 0 }]);
    await assertMatchesReference(program, program.finish(out), steps);
  });
}
