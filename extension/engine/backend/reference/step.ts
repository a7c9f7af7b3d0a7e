import type { Columns, Instruction, Program } from '../../core/program';
import type { StepBatch } from '../backend';
import type { KvPool } from './kv';
import type { StatePool } from './state';

/** What an op sees of one step: the program, its memory, and the batch. */
export interface StepContext {
  readonly program: Program;
  readonly weights: readonly Float32Array[];
  readonly batch: StepBatch;
  /** Sequence of each of the T rows. */
  readonly sequenceOf: Int32Array;
  readonly kv: KvPool;
  readonly states: StatePool;
  /** Activations written so far in this step, [rows * cols] by value id. */
  readonly values: Float32Array[];
}

export type OpOf<N extends Instruction['op']> = Extract<Instruction, { op: N }>;

/** A float32 matrix, row-major. */
export interface Matrix {
  readonly data: Float32Array;
  readonly rows: number;
  readonly cols: number;
}

/** An activation that an earlier instruction of this step wrote. */
export function read(context: StepContext, id: number): Matrix {
  const data = context.values[id];
  const spec = context.program.values[id];
  if (data === undefined || spec === undefined)
    throw new RangeError(`value ${id} is read before it is written`);
  return { data, rows: data.length / spec.cols, cols: spec.cols };
}

export function allocate(context: StepContext, id: number): Matrix {
  const spec = context.program.values[id];
  if (spec === undefined) throw new RangeError(`no value ${id}`);
  const rows = spec.rows === 'T' ? context.batch.tokens.length : context.batch.logitRows.length;
  const data = new Float32Array(rows * spec.cols);
  context.values[id] = data;
  return { data, rows, cols: spec.cols };
}

export function weightOf(context: StepContext, id: number): Matrix {
  const data = context.weights[id];
  const spec = context.program.weights[id];
  if (data === undefined || spec === undefined) throw new RangeError(`no weight ${id}`);
  return { data, rows: spec.rows, cols: spec.cols };
}

/** Row `row` of a matrix, a view. */
export function rowOf(x: Matrix, row: number): Float32Array {
  return x.data.subarray(row * x.cols, (row + 1) * x.cols);
}

/** `cols` columns of a value from `column` on, a copy; the value itself when that is all of it. */
export function readColumns(
  context: StepContext,
  { value, column }: Columns,
  cols: number,
): Matrix {
  const x = read(context, value);
  if (column === 0 && cols === x.cols) return x;
  const part = { data: new Float32Array(x.rows * cols), rows: x.rows, cols };
  for (let row = 0; row < x.rows; row++) {
    part.data.set(rowOf(x, row).subarray(column, column + cols), row * cols);
  }
  return part;
}

/** data[index] of an index that the caller has bounded. */
export function at(data: Float32Array | Int32Array, index: number): number {
  return data[index] as number;
}

/**
 * Σ_i a[aStart + i] * b[bStart + i] in float64. All of this backend's time goes here, so the arrays are of one type and
 * the sum is four, which the compiler can keep apart.
 */
export function dot(
  a: Float32Array,
  aStart: number,
  b: Float32Array,
  bStart: number,
  count: number,
): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  const whole = count - (count % 4);
  for (let i = 0; i < whole; i += 4) {
    const p = aStart + i;
    const q = bStart + i;
    s0 += (a[p] as number) * (b[q] as number);
    s1 += (a[p + 1] as number) * (b[q + 1] as number);
    s2 += (a[p + 2] as number) * (b[q + 2] as number);
    s3 += (a[p + 3] as number) * (b[q + 3] as number);
  }
  for (let i = whole; i < count; i++) s0 += (a[aStart + i] as number) * (b[bStart + i] as number);
  return s0 + s1 + s2 + s3;
}
