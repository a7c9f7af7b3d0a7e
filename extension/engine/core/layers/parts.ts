import type { GraphBuilder } from '../graph';
import type { WeightId } from '../program';

/** Rows of a larger tensor: `count` runs of `length` rows, the first at `start`, one every `stride` rows. */
export interface RowRuns {
  readonly start: number;
  readonly length: number;
  /** Needed when count is not 1. */
  readonly stride?: number;
  readonly count?: number;
}

/** Some rows of the tensor `name` [...batch, rows, cols], whose matrices lie one after the other. */
export function matrixRows(
  g: GraphBuilder,
  name: string,
  shape: readonly number[],
  runs: RowRuns,
): WeightId {
  const { start, length, stride = length, count = 1 } = runs;
  const part = { shape, start, length, stride, count };
  return g.matrix(name, count * length, shape.at(-1) ?? 0, part);
}

/** Some elements of the tensor `name`. */
export function vectorRows(
  g: GraphBuilder,
  name: string,
  shape: readonly number[],
  runs: RowRuns,
): WeightId {
  const { start, length, stride = length, count = 1 } = runs;
  return g.vector(name, count * length, { shape, start, length, stride, count });
}
