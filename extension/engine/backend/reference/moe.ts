import type { RoutingSpec, WeightId } from '../../core/program';
import { activate, sigmoid } from './activation';
import { product } from './linear';
import { addInPlace, prologue } from './norm';
import {
  allocate,
  at,
  read,
  rowOf,
  weightOf,
  type Matrix,
  type OpOf,
  type StepContext,
} from './step';

export function moeRoute(context: StepContext, op: OpOf<'moe_route'>): void {
  const router = weightOf(context, op.router);
  const x = prologue(context, op, router.cols);
  const out = allocate(context, op.out);
  const logits = product(x, router, op.bias === null ? null : weightOf(context, op.bias).data);
  const correction = op.correction === null ? null : weightOf(context, op.correction).data;
  const shared = op.sharedGate === null ? null : product(x, weightOf(context, op.sharedGate), null);
  const { experts, topK } = op.routing;
  for (let row = 0; row < x.rows; row++) {
    const chosen = route(
      [...logits.subarray(row * experts, (row + 1) * experts)],
      correction,
      op.routing,
    );
    const target = rowOf(out, row);
    target.set(chosen.map((c) => c.expert));
    target.set(
      chosen.map((c) => c.weight),
      topK,
    );
    target[2 * topK] = shared === null ? 1 : sigmoid(at(shared, row));
  }
}

interface Choice {
  readonly expert: number;
  readonly weight: number;
}

/** The experts of one row, best first. */
function route(
  logits: readonly number[],
  correction: Float32Array | null,
  { topK, scores: kind, groups, normalize, factor }: RoutingSpec,
): Choice[] {
  const scores = scoresOf(logits, kind);
  const ranks = scores.map((s, e) => s + (correction === null ? 0 : at(correction, e)));
  const allowed = groups === null ? null : bestGroups(ranks, groups);
  const size = groups === null ? 1 : ranks.length / groups.count;
  const candidates = [...ranks.keys()].filter((e) => allowed?.has(Math.floor(e / size)) ?? true);
  const chosen = best(candidates, (e) => ranks[e] ?? 0, topK);
  let weights = chosen.map((e) => scores[e] ?? 0);
  if (kind === 'softmax_of_chosen') weights = softmax(weights);
  const total = normalize ? weights.reduce((a, b) => a + b, 0) : 1;
  return chosen.map((expert, i) => ({ expert, weight: ((weights[i] ?? 0) / total) * factor }));
}

function scoresOf(logits: readonly number[], kind: RoutingSpec['scores']): readonly number[] {
  switch (kind) {
    case 'softmax':
      return softmax(logits);
    case 'softmax_of_chosen':
      return logits;
    case 'sigmoid':
      return logits.map(sigmoid);
  }
}

function bestGroups(
  ranks: readonly number[],
  { count, kept, rank }: NonNullable<RoutingSpec['groups']>,
): Set<number> {
  const size = ranks.length / count;
  const rankOf = (group: number) => {
    const sorted = ranks.slice(group * size, (group + 1) * size).sort((a, b) => b - a);
    return (sorted[0] ?? 0) + (rank === 'top2_sum' ? (sorted[1] ?? 0) : 0);
  };
  return new Set(best([...Array(count).keys()], rankOf, kept));
}

/** The `count` items of the highest rank; the earlier of equals. */
function best(items: readonly number[], rank: (item: number) => number, count: number): number[] {
  return [...items].sort((a, b) => rank(b) - rank(a) || a - b).slice(0, count);
}

function softmax(x: readonly number[]): number[] {
  const max = x.reduce((a, b) => Math.max(a, b));
  const exp = x.map((v) => Math.exp(v - max));
  const total = exp.reduce((a, b) => a + b);
  return exp.map((v) => v / total);
}

export function moeLinear(context: StepContext, op: OpOf<'moe_linear'>): void {
  const x = read(context, op.x);
  const out = allocate(context, op.out);
  const project = slots(context, op, op.weights, op.bias, op.shared);
  if (op.mode === 'expand') {
    for (let row = 0; row < x.rows; row++) rowOf(out, row).set(project.expand(rowOf(x, row), row));
  } else {
    for (let row = 0; row < x.rows; row++) project.reduce(rowOf(x, row), row, rowOf(out, row));
  }
  if (op.residual !== null) addInPlace(out.data, read(context, op.residual).data);
}

export function moeGlu(context: StepContext, op: OpOf<'moe_glu'>): void {
  const gate = slots(context, op, op.gate, op.gateBias, op.sharedGate);
  const up = slots(context, op, op.up, op.upBias, op.sharedUp);
  const x = prologue(context, op, gate.cols);
  const out = allocate(context, op.out);
  for (let row = 0; row < x.rows; row++) {
    const input = rowOf(x, row);
    activate(op.activation, gate.expand(input, row), up.expand(input, row), rowOf(out, row));
  }
}

/** One projection of all experts, applied to one row's slots. */
function slots(
  context: StepContext,
  op: { route: number; experts: number; topK: number },
  weightIds: readonly WeightId[],
  biasId: WeightId | null,
  sharedId: WeightId | null,
) {
  const route = read(context, op.route);
  const { topK } = op;
  const expert = stacked(context, weightIds, op.experts);
  const bias = biasId === null ? null : weightOf(context, biasId).data;
  const shared = sharedId === null ? null : weightOf(context, sharedId);
  const { cols, rows } = expert(0);
  const slot = (input: Float32Array, index: number): Float32Array => {
    const ownBias = bias === null ? null : bias.subarray(index * rows, (index + 1) * rows);
    return product({ data: input, rows: 1, cols }, expert(index), ownBias);
  };
  return {
    cols,
    /** The results of all slots on the same input, side by side. */
    expand(input: Float32Array, row: number): Float32Array {
      const out = new Float32Array(topK * rows + (shared?.rows ?? 0));
      const chosen = rowOf(route, row);
      for (let s = 0; s < topK; s++) out.set(slot(input, at(chosen, s)), s * rows);
      if (shared !== null)
        out.set(product({ data: input, rows: 1, cols }, shared, null), topK * rows);
      return out;
    },
    /** The weighted sum of the slots' results, each on its own part of the input. */
    reduce(input: Float32Array, row: number, out: Float32Array): void {
      const chosen = rowOf(route, row);
      const sum = new Float64Array(rows);
      const add = (result: Float32Array, weight: number) => {
        for (let n = 0; n < rows; n++) sum[n] = (sum[n] ?? 0) + weight * at(result, n);
      };
      for (let s = 0; s < topK; s++) {
        const own = input.subarray(s * cols, (s + 1) * cols);
        add(slot(own, at(chosen, s)), at(chosen, topK + s));
      }
      if (shared !== null) {
        const own = { data: input.subarray(topK * cols), rows: 1, cols: shared.cols };
        add(product(own, shared, null), at(chosen, 2 * topK));
      }
      out.set(sum);
    },
  };
}

/** Expert e of weights whose rows, one after the other, are those of all experts. */
function stacked(
  context: StepContext,
  ids: readonly WeightId[],
  experts: number,
): (expert: number) => Matrix {
  const weights = ids.map((id) => weightOf(context, id));
  const cols = weights[0]?.cols ?? 0;
  const rows = weights.reduce((sum, w) => sum + w.rows, 0) / experts;
  const perWeight = experts / weights.length;
  return (expert) => {
    const weight = weights[Math.floor(expert / perWeight)];
    if (weight === undefined) throw new RangeError(`no expert ${expert}`);
    const start = (expert % perWeight) * rows * cols;
    return { data: weight.data.subarray(start, start + rows * cols), rows, cols };
  };
}
