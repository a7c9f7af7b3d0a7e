import type { JoinSpec, NormSpec, ValueId } from '../../core/program';
import { activationFunction } from './activation';
import {
  allocate,
  at,
  read,
  readColumns,
  weightOf,
  type Matrix,
  type OpOf,
  type StepContext,
} from './step';

export function norm(context: StepContext, op: OpOf<'norm'>): void {
  const x = read(context, op.x);
  const out = allocate(context, op.out);
  out.data.set(x.data);
  normalizeInPlace(context, op.norm, out, op.groups);
  if (op.gate !== undefined) {
    const gate = readColumns(context, op.gate, x.cols).data;
    const activate = activationFunction(op.gate.activation);
    for (let i = 0; i < gate.length; i++) out.data[i] = at(out.data, i) * activate(at(gate, i));
  }
  if (op.residual !== undefined) addInPlace(out.data, read(context, op.residual).data);
}

/** What a matrix product of `cols` columns reads: the join, then the norm, each if given. */
export function prologue(
  context: StepContext,
  op: { x: ValueId; norm: NormSpec | null; join?: JoinSpec; column?: number },
  cols: number,
): Matrix {
  let x = readColumns(context, { value: op.x, column: op.column ?? 0 }, cols);
  if (op.join !== undefined) {
    const sum = allocate(context, op.join.sum);
    sum.data.set(x.data);
    normalizeInPlace(context, op.join.norm, sum, 1);
    addInPlace(sum.data, read(context, op.join.residual).data);
    x = sum;
  }
  if (op.norm === null) return x;
  const copy = { ...x, data: x.data.slice() };
  normalizeInPlace(context, op.norm, copy, 1);
  return copy;
}

export function addInPlace(data: Float32Array, term: Float32Array): void {
  for (let i = 0; i < data.length; i++) data[i] = at(data, i) + at(term, i);
}

export function normalizeInPlace(
  context: StepContext,
  spec: NormSpec,
  x: Matrix,
  groups: number,
): void {
  const weight = spec.weight === null ? null : weightOf(context, spec.weight).data;
  const bias = spec.bias === null ? null : weightOf(context, spec.bias).data;
  normalize(x.data, x.cols, spec, weight, bias, groups);
}

/**
 * RMS norm (Zhang and Sennrich 2019) or layer norm (Ba et al. 2016) of each of `groups` equal parts of each row of
 * data [rows, cols], in place. The weight covers one group, or the whole row.
 */
export function normalize(
  data: Float32Array,
  cols: number,
  spec: Pick<NormSpec, 'kind' | 'eps' | 'offset'>,
  weight: Float32Array | null,
  bias: Float32Array | null,
  groups = 1,
): void {
  const size = cols / groups;
  for (let start = 0; start < data.length; start += size) {
    let mean = 0;
    if (spec.kind === 'layer') {
      for (let i = 0; i < size; i++) mean += at(data, start + i);
      mean /= size;
    }
    let square = 0;
    for (let i = 0; i < size; i++) square += (at(data, start + i) - mean) ** 2;
    const inverse = 1 / Math.sqrt(square / size + spec.eps);
    const shift = start % cols;
    for (let i = 0; i < size; i++) {
      const scaled = (at(data, start + i) - mean) * inverse;
      const w = weight === null ? 1 : at(weight, (shift + i) % weight.length) + spec.offset;
      const b = bias === null ? 0 : at(bias, (shift + i) % bias.length);
      data[start + i] = scaled * w + b;
    }
  }
}
