import { describe, test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';
import { codingName, type Coding } from './weights';

describe('embed', () => {
  const codings: Coding[] = [
    'F32',
    'F16',
    'BF16',
    { bits: 4, groupSize: 64, scales: 'BF16' },
    { bits: 6, groupSize: 32, scales: 'F16' },
    { blocks: 'Q4_1' },
    { blocks: 'Q8_0' },
  ];
  for (const coding of codings) {
    test(`gathers and scales rows of ${codingName(coding)}`, async () => {
      const program = new TestProgram();
      const cols = typeof coding === 'string' ? 77 : 192;
      const table = program.matrix(cols, cols, coding);
      program.embed(cols, cols); // sets the vocabulary
      const out = program.value(cols);
      program.push({ op: 'embed', weight: table, scale: 3.25, out });
      const steps = [[{ tokens: [0, cols - 1, ...randomTokens(20, cols)], start: 0 }]];
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-6 });
    });
  }
});
