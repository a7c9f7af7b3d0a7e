import { describe, test } from 'node:test';
import type { NormSpec } from '../../extension/engine/core/program';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';

const cases: { name: string; cols: number; groups: number; norm: (p: TestProgram) => NormSpec }[] =
  [
    { name: 'RMS over odd rows', cols: 133, groups: 1, norm: (p) => p.rmsNorm(133) },
    {
      name: 'RMS with an offset to the weight',
      cols: 48,
      groups: 1,
      norm: (p) => p.rmsNorm(48, 1),
    },
    { name: 'RMS of each head with one weight', cols: 120, groups: 5, norm: (p) => p.rmsNorm(24) },
    {
      name: 'RMS of each head with its own weight',
      cols: 128,
      groups: 4,
      norm: (p) => p.rmsNorm(128),
    },
    {
      name: 'RMS without weight',
      cols: 80,
      groups: 1,
      norm: () => ({ kind: 'rms', weight: null, bias: null, eps: 1e-5, offset: 0 }),
    },
    {
      name: 'layer norm with bias',
      cols: 131,
      groups: 1,
      norm: (p) => ({ ...p.rmsNorm(131), kind: 'layer', bias: p.vector(131) }),
    },
  ];

describe('norm', () => {
  for (const activation of ['silu', 'sigmoid'] as const) {
    test(`times ${activation} of a gate, plus a residual`, async () => {
      const program = new TestProgram();
      const x = program.embed(90, 90);
      const gate = { value: program.linear(x, 130), column: 17, activation };
      const residual = program.linear(x, 90);
      const out = program.value(90);
      program.push({ op: 'norm', x, norm: program.rmsNorm(18), groups: 5, gate, residual, out });
      const steps = [1, 60].map((count) => [{ tokens: randomTokens(count, 90), start: 0 }]);
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
    });
  }

  for (const { name, cols, groups, norm } of cases) {
    test(name, async () => {
      const program = new TestProgram();
      const x = program.embed(cols, cols);
      const out = program.value(cols);
      program.push({ op: 'norm', x, norm: norm(program), groups, out });
      const steps = [1, 90].map((count) => [{ tokens: randomTokens(count, cols), start: 0 }]);
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
    });
  }
});
