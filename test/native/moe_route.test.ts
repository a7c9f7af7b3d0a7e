import { describe, test } from 'node:test';
import type { RoutingSpec } from '../../extension/engine/core/program';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';
import { ROUTING } from './moe_program';

const groups = (count: number, kept: number, rank: 'max' | 'top2_sum') => ({ count, kept, rank });

const cases: Record<string, Partial<RoutingSpec> & { readonly hasCorrection?: true }> = {
  'shares of all': { normalize: false },
  'shares that sum to the factor': {},
  'shares of the chosen': { scores: 'softmax_of_chosen', normalize: false },
  'sigmoids with corrected ranks': { scores: 'sigmoid', hasCorrection: true },
  'the best of the best groups': { experts: 40, topK: 5, groups: groups(8, 3, 'max') },
  'groups by their two best': { experts: 24, topK: 4, groups: groups(6, 2, 'top2_sum') },
  'groups of one': { experts: 6, topK: 2, groups: groups(6, 3, 'top2_sum') },
};

describe('moe_route', () => {
  for (const [name, { hasCorrection, ...fields }] of Object.entries(cases)) {
    test(name, async () => {
      const program = new TestProgram();
      const routing = { ...ROUTING, ...fields };
      const cols = 2 * routing.topK + 1;
      const out = program.value(cols);
      program.push({
        op: 'moe_route',
        x: program.embed(cols, 96),
        norm: hasCorrection ? program.rmsNorm(96) : null,
        router: program.matrix(
          routing.experts,
          96,
          { bits: 8, groupSize: 32, scales: 'BF16' },
          0.3,
        ),
        bias: hasCorrection ? null : program.vector(routing.experts),
        correction: hasCorrection ? program.vector(routing.experts) : null,
        sharedGate: hasCorrection ? program.matrix(1, 96, 'BF16', 0.1) : null,
        routing,
        out,
      });
      const steps = [1, 70].map((count) => [{ tokens: randomTokens(count, cols), start: 0 }]);
      await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
    });
  }
});
