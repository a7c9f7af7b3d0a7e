import { describe, test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';

/** pairs: of a head of 40 columns. */
const cases = [
  { layout: 'half', pairs: 20, scale: 1, start: 0 },
  { layout: 'half', pairs: 7, scale: 1.37, start: 0 },
  { layout: 'half', pairs: 11, scale: 1, start: 18 },
  { layout: 'interleaved', pairs: 20, scale: 1, start: 0 },
  { layout: 'interleaved', pairs: 9, scale: 0.8, start: 5 },
] as const;

describe('rope', () => {
  for (const { layout, pairs, scale, start: first } of cases) {
    test(`${layout}, ${2 * pairs} of 40 columns from ${first} on, scale ${scale}`, async () => {
      const program = new TestProgram();
      const cols = 3 * 40;
      const x = program.embed(cols, cols);
      const out = program.value(cols);
      const inverseFrequencies = Array.from({ length: pairs }, (_, i) => 10000 ** (-i / pairs));
      const rope = { inverseFrequencies, scale, layout, start: first };
      program.push({ op: 'rope', x, heads: 3, headDim: 40, rope, out });
      const steps = [0, 900].map((start) => [{ tokens: randomTokens(70, cols), start }]);
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
    });
  }
});
