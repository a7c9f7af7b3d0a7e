import { describe, test } from 'node:test';
import { assertMatchesReference, MAX_TOKENS, randomTokens, TestProgram } from './harness';
import { EXPERT_CASES, experts, nameOf, routed, ROUTING } from './moe_program';
import type { Coding } from './weights';

const cols = 128;
const sharedSize = 50;
const { topK } = ROUTING;

describe('moe_glu', () => {
  for (const { coding, rows, matrices, shared, ups = coding, sharedUps = shared } of EXPERT_CASES) {
    for (const activation of ['silu', 'swiglu_oai'] as const) {
      const codings = ups === coding ? nameOf(coding) : `${nameOf(coding)} and ${nameOf(ups)}`;
      const name = `${codings}, ${matrices} of them, ${rows} rows an expert`;
      test(`${activation}: ${name}`, async () => {
        const program = new TestProgram();
        const vocab = topK * rows + (shared === null ? 0 : sharedSize);
        const x = program.embed(vocab, cols);
        const hasBias = activation === 'swiglu_oai';
        const sharedMatrix = (own: Coding | null) =>
          own === null ? null : program.matrix(sharedSize, cols, own, 0.3);
        const out = program.value(vocab);
        program.push({
          op: 'moe_glu',
          x,
          norm: shared === null ? null : program.rmsNorm(cols),
          route: routed(program, x, cols),
          experts: ROUTING.experts,
          topK,
          gate: experts(program, matrices, rows, cols, coding),
          up: experts(program, matrices, rows, cols, ups),
          gateBias: hasBias ? program.vector(ROUTING.experts * rows) : null,
          upBias: hasBias ? program.vector(ROUTING.experts * rows) : null,
          sharedGate: sharedMatrix(shared),
          sharedUp: sharedMatrix(sharedUps),
          activation,
          out,
        });
        const steps = [1, 3, MAX_TOKENS].map((count) => [
          { tokens: randomTokens(count, vocab), start: 0 },
        ]);
        await assertMatchesReference(program, program.finish(out), steps);
      });
    }
  }
});
