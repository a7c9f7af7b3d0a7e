import { describe, test } from 'node:test';
import { assertMatchesReference, MAX_TOKENS, randomTokens, TestProgram } from './harness';
import { EXPERT_CASES, experts, nameOf, routed, ROUTING } from './moe_program';

const cols = 128;
const sharedSize = 192;
const { topK } = ROUTING;
const shape = { experts: ROUTING.experts, topK };
const steps = (vocab: number) =>
  [1, 3, MAX_TOKENS].map((count) => [{ tokens: randomTokens(count, vocab), start: 0 }]);

describe('moe_linear', () => {
  for (const { coding, rows, matrices, shared } of EXPERT_CASES) {
    const name = `${nameOf(coding)}, ${matrices} of them, ${rows} rows an expert`;
    const tail = shared === null ? 0 : sharedSize;

    test(`expands: ${name}`, async () => {
      const program = new TestProgram();
      const vocab = topK * rows + tail;
      const x = program.embed(vocab, cols);
      const route = routed(program, x, cols);
      const out = program.value(vocab);
      program.push({
        op: 'moe_linear',
        mode: 'expand',
        x,
        route,
        ...shape,
        weights: experts(program, matrices, rows, cols, coding),
        bias: program.vector(ROUTING.experts * rows),
        shared: shared === null ? null : program.matrix(sharedSize, cols, shared, 0.3),
        residual: null,
        out,
      });
      await assertMatchesReference(program, program.finish(out), steps(vocab));
    });

    test(`reduces: ${name}`, async () => {
      const program = new TestProgram();
      const x = program.embed(rows, cols);
      const route = routed(program, x, cols, ROUTING, shared !== null);
      const residual = program.linear(x, rows);
      const out = program.value(rows);
      program.push({
        op: 'moe_linear',
        mode: 'reduce',
        x: program.linear(x, topK * cols + tail),
        route,
        ...shape,
        weights: experts(program, matrices, rows, cols, coding),
        bias: program.vector(ROUTING.experts * rows),
        shared: shared === null ? null : program.matrix(rows, sharedSize, shared, 0.3),
        residual,
        out,
      });
      await assertMatchesReference(program, program.finish(out), steps(rows));
    });
  }
});
