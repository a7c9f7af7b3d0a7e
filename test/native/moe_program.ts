/** Programs around a mixture of experts. */
import type { RoutingSpec, ValueId, WeightId } from '../../extension/engine/core/program';
import type { TestProgram } from './harness';
import { codingName, type Coding } from './weights';

export const ROUTING: RoutingSpec = {
  experts: 6,
  topK: 3,
  scores: 'softmax',
  groups: null,
  normalize: true,
  factor: 1.5,
};

/** The route of x; `hasShared` adds a gate for the shared expert. */
export function routed(
  test: TestProgram,
  x: ValueId,
  cols: number,
  routing: RoutingSpec = ROUTING,
  hasShared = false,
): ValueId {
  const out = test.value(2 * routing.topK + 1);
  test.push({
    op: 'moe_route',
    x,
    norm: test.rmsNorm(cols),
    router: test.matrix(routing.experts, cols),
    bias: test.vector(routing.experts),
    correction: null,
    sharedGate: hasShared ? test.matrix(1, cols, 'F32', 0.3) : null,
    routing,
    out,
  });
  return out;
}

/** Matrices that hold the rows of all experts, `count` of them; of several codings each has one, by turns. */
export function experts(
  test: TestProgram,
  count: number,
  rows: number,
  cols: number,
  codings: Coding | readonly Coding[],
): WeightId[] {
  const perMatrix = (ROUTING.experts / count) * rows;
  const all = [codings].flat();
  return Array.from({ length: count }, (_, i) =>
    test.matrix(perMatrix, cols, all[i % all.length], 0.3),
  );
}

/** How experts are stored: `rows` that fill whole blocks of 16 rows or not, in one matrix or several. */
export const EXPERT_CASES: {
  /** Several: of the matrices, by turns. */
  readonly coding: Coding | readonly Coding[];
  readonly rows: number;
  readonly matrices: number;
  readonly shared: Coding | null;
  /** Of the ups, where they are not coded like the gates. */
  readonly ups?: Coding;
  readonly sharedUps?: Coding;
}[] = [
  { coding: 'F32', rows: 32, matrices: 1, shared: null },
  { coding: 'BF16', rows: 27, matrices: 2, shared: { bits: 8, groupSize: 64, scales: 'F16' } },
  {
    coding: { bits: 4, groupSize: 32, scales: 'BF16' },
    rows: 64,
    matrices: 1,
    shared: { bits: 4, groupSize: 64, scales: 'BF16' },
  },
  { coding: { bits: 4, groupSize: 64, scales: 'BF16' }, rows: 40, matrices: 6, shared: 'BF16' },
  { coding: { mode: 'nvfp4' }, rows: 64, matrices: 1, shared: null },
  {
    coding: { bits: 4, groupSize: 64, scales: 'F16' },
    rows: 40,
    matrices: 1,
    shared: null,
    ups: { bits: 6, groupSize: 64, scales: 'F16' },
  },
  {
    coding: { bits: 4, groupSize: 32, scales: 'BF16' },
    rows: 32,
    matrices: 1,
    shared: 'BF16',
    sharedUps: { bits: 8, groupSize: 64, scales: 'F16' },
  },
  // Experts stored one by one, in unlike codings.
  {
    coding: [
      { bits: 4, groupSize: 64, scales: 'BF16' },
      { bits: 6, groupSize: 128, scales: 'BF16' },
      { bits: 3, groupSize: 32, scales: 'BF16' },
    ],
    rows: 40,
    matrices: 6,
    shared: null,
    ups: { bits: 4, groupSize: 64, scales: 'BF16' },
  },
  {
    coding: [
      { bits: 4, groupSize: 64, scales: 'BF16' },
      { bits: 8, groupSize: 64, scales: 'F16' },
    ],
    rows: 32,
    matrices: 6,
    shared: { bits: 4, groupSize: 64, scales: 'BF16' },
  },
  { coding: [{ blocks: 'Q4_0' }, { blocks: 'Q5_0' }], rows: 27, matrices: 3, shared: null },
  {
    coding: [{ mode: 'nvfp4' }, { bits: 4, groupSize: 64, scales: 'BF16' }],
    rows: 32,
    matrices: 6,
    shared: null,
  },
  {
    coding: ['BF16', 'F16', { bits: 4, groupSize: 64, scales: 'F16' }],
    rows: 40,
    matrices: 6,
    shared: 'BF16',
  },
];

export const nameOf = (coding: Coding | readonly Coding[]) =>
  [coding].flat().map(codingName).join(', ');
