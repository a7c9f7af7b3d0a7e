import { normalize } from '../backend/reference/norm';
import { dequantize } from '../backend/reference/weights';
import type { NormSpec, Program } from '../core/program';
import type { Pooling } from '../loading/pooling';
import type { WeightStore } from '../loading/weights';

/** The last norm of a model, which the hidden states that a step leaves have not been through yet. */
export interface FinalNorm {
  readonly spec: NormSpec;
  readonly weight: Float32Array | null;
  readonly bias: Float32Array | null;
  /** Columns of a hidden state. */
  readonly width: number;
}

/** Null for programs that leave no hidden states. */
export function loadFinalNorm(program: Program, store: WeightStore): FinalNorm | null {
  const { hidden, values, weights } = program;
  if (hidden === undefined) return null;
  const read = (id: number | null) => {
    const weight = id === null ? undefined : weights[id];
    if (weight === undefined) return null;
    const { name, rows, cols, part } = weight;
    return dequantize(store.weight(name, rows, cols, part), cols, store);
  };
  const { norm } = hidden;
  const width = values[hidden.value]?.cols ?? 0;
  return { spec: norm, weight: read(norm.weight), bias: read(norm.bias), width };
}

/** One vector for the tokens of a text, from their hidden states as they come. */
export class HiddenPool {
  private readonly sum: Float64Array;
  private count = 0;

  constructor(
    private readonly norm: FinalNorm,
    private readonly pooling: Pooling,
  ) {
    this.sum = new Float64Array(norm.width);
  }

  /** Hidden states [n, width] of the tokens from position `first` on; from 0 on, all begins anew. */
  add(states: Float32Array, first: number): void {
    const { norm, sum } = this;
    const { width, spec, weight, bias } = norm;
    if (first === 0) this.clear();
    const isLast = this.pooling === 'last';
    const rows = isLast ? states.slice(-width) : states.slice();
    if (isLast) this.clear();
    normalize(rows, width, spec, weight, bias);
    for (const [i, value] of rows.entries()) sum[i % width] = (sum[i % width] ?? 0) + value;
    this.count += rows.length / width;
  }

  /** [width], of length 1; zeros when all states are. */
  vector(): Float32Array {
    return unitVector(Float32Array.from(this.sum, (x) => x / this.count));
  }

  private clear(): void {
    this.sum.fill(0);
    this.count = 0;
  }
}

/** The first `size` numbers, scaled to length 1: what models trained so (Matryoshka) mean by fewer dimensions. */
export function shorten(vector: Float32Array, size: number): Float32Array {
  return size < vector.length ? unitVector(vector.slice(0, size)) : vector;
}

function unitVector(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return length === 0 ? vector : vector.map((x) => x / length);
}
