import { activate, activationFunction } from './activation';
import { addInPlace, prologue } from './norm';
import {
  allocate,
  at,
  dot,
  read,
  weightOf,
  type Matrix,
  type OpOf,
  type StepContext,
} from './step';

export function linear(context: StepContext, op: OpOf<'linear'>): void {
  const weights = op.weights.map((id) => weightOf(context, id));
  const x = prologue(context, op, weights[0]?.cols ?? 0);
  const out = allocate(context, op.out);
  const { factor = 1 } = op;
  let column = 0;
  for (const [i, weight] of weights.entries()) {
    const biasId = op.biases[i] ?? null;
    const bias = biasId === null ? null : weightOf(context, biasId).data;
    multiply(x, weight, bias, factor, out.data, out.cols, column);
    column += weight.rows;
  }
  if (op.activation !== undefined) {
    const apply = activationFunction(op.activation);
    for (let i = 0; i < out.data.length; i++) out.data[i] = apply(at(out.data, i));
  }
  if (op.residual !== null) addInPlace(out.data, read(context, op.residual).data);
}

export function glu(context: StepContext, op: OpOf<'glu'>): void {
  const gate = weightOf(context, op.gate);
  const x = prologue(context, op, gate.cols);
  const up = weightOf(context, op.up);
  const out = allocate(context, op.out);
  const gated = product(
    x,
    gate,
    op.gateBias === undefined ? null : weightOf(context, op.gateBias).data,
  );
  const upped = product(x, up, op.upBias === undefined ? null : weightOf(context, op.upBias).data);
  activate(op.activation, gated, upped, out.data);
}

/** x · weightᵀ + bias, [rows of x, rows of weight]. */
export function product(x: Matrix, weight: Matrix, bias: Float32Array | null): Float32Array {
  const out = new Float32Array(x.rows * weight.rows);
  multiply(x, weight, bias, 1, out, weight.rows, 0);
  return out;
}

/** out[row, column + n] = factor * (Σ_k x[row, k] * weight[n, k] + bias[n]); `width`: columns of out. */
function multiply(
  x: Matrix,
  weight: Matrix,
  bias: Float32Array | null,
  factor: number,
  out: Float32Array,
  width: number,
  column: number,
): void {
  const { cols } = x;
  for (let n = 0; n < weight.rows; n++) {
    const shift = bias === null ? 0 : at(bias, n);
    for (let row = 0; row < x.rows; row++) {
      const sum = dot(x.data, row * cols, weight.data, n * cols, cols);
      out[row * width + column + n] = factor * (sum + shift);
    }
  }
}
