import type { Activation } from '../../core/program';
import { allocate, at, read, type OpOf, type StepContext } from './step';

/** gpt-oss's constants of 'swiglu_oai'. */
const SWIGLU = { slope: 1.702, limit: 7 };

export function activation(context: StepContext, op: OpOf<'activation'>): void {
  const gate = read(context, op.gate).data;
  const up = op.up === null ? null : read(context, op.up).data;
  activate(op.activation, gate, up, allocate(context, op.out).data);
}

/** out = activation(gate) * up, element by element; up null: out = activation(gate). */
export function activate(
  name: Activation,
  gate: Float32Array,
  up: Float32Array | null,
  out: Float32Array,
): void {
  if (name === 'swiglu_oai') {
    if (up === null) throw new RangeError('swiglu_oai needs an up value');
    for (let i = 0; i < out.length; i++) {
      const g = Math.min(at(gate, i), SWIGLU.limit);
      const u = Math.min(Math.max(at(up, i), -SWIGLU.limit), SWIGLU.limit);
      out[i] = (g / (1 + Math.exp(-SWIGLU.slope * g))) * (u + 1);
    }
    return;
  }
  const apply = activationFunction(name);
  for (let i = 0; i < out.length; i++) out[i] = apply(at(gate, i)) * (up === null ? 1 : at(up, i));
}

export function activationFunction(name: Activation): (x: number) => number {
  switch (name) {
    case 'silu':
      return (x) => x * sigmoid(x);
    case 'sigmoid':
      return sigmoid;
    case 'swiglu_oai':
      throw new RangeError('swiglu_oai is a function of two values');
    case 'relu':
      return (x) => Math.max(x, 0);
    case 'gelu_tanh': // the tanh form of Hendrycks and Gimpel 2016
      return (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
    case 'gelu':
      return (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));
  }
}

export function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/**
 * The error function to about 1e-15: its Maclaurin series near zero, and the continued fraction of erfc
 * (Abramowitz and Stegun 7.1.5 and 7.1.14) elsewhere.
 */
function erf(x: number): number {
  const z = Math.abs(x);
  if (z > 6) return Math.sign(x);
  if (z < 2.5) {
    let term = z;
    let sum = z;
    for (let n = 1; Math.abs(term) > 1e-17 * sum; n++) {
      term *= (-z * z) / n;
      sum += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 80; n > 0; n--) fraction = n / 2 / (z + fraction);
  return Math.sign(x) * (1 - Math.exp(-z * z) / ((z + fraction) * Math.sqrt(Math.PI)));
}
