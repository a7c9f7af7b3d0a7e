import { describe, test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';

describe('scale', () => {
  for (const softcap of [null, 0.5, 30]) {
    test(softcap === null ? 'by a factor' : `by a factor, capped at ${softcap}`, async () => {
      const program = new TestProgram();
      const cols = 101;
      const x = program.embed(cols, cols);
      const out = program.value(cols);
      program.push({ op: 'scale', x, factor: 2.5, softcap, out });
      const steps = [[{ tokens: randomTokens(33, cols), start: 0 }]];
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
    });
  }
});
