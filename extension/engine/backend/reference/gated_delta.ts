import type { StateLayerSpec } from '../../core/program';
import { sigmoid } from './activation';
import { channelsOf, type LayerState } from './state';
import { allocate, at, read, rowOf, weightOf, type OpOf, type StepContext } from './step';

/** Under the root of the unit norm of queries and keys. */
const UNIT_NORM_EPS = 1e-6;

/** Token by token, as the recurrence is written in https://arxiv.org/abs/2412.06464, equation 10. */
export function gatedDelta(context: StepContext, op: OpOf<'gated_delta'>): void {
  const spec = context.states.layers[op.layer];
  if (spec === undefined) throw new RangeError(`no state layer ${op.layer}`);
  const x = read(context, op.x);
  const out = allocate(context, op.out);
  const conv = weightOf(context, op.conv).data;
  const decay = weightOf(context, op.decay).data;
  const timeBias = weightOf(context, op.timeBias).data;
  const channels = channelsOf(spec);
  const { valueHeads } = spec;
  for (let row = 0; row < x.rows; row++) {
    const slot = context.batch.stateSlots?.[at(context.sequenceOf, row)] ?? 0;
    const state = context.states.of(slot, op.layer);
    const input = rowOf(x, row);
    const qkv = convolve(input.subarray(0, channels), conv, spec.taps, state);
    unitHeads(qkv, spec);
    for (let head = 0; head < valueHeads; head++) {
      const b = at(input, channels + head);
      const a = at(input, channels + valueHeads + head);
      const kept = Math.exp(-Math.exp(at(decay, head)) * softplus(a + at(timeBias, head)));
      const target = rowOf(out, row).subarray(head * spec.valueDim, (head + 1) * spec.valueDim);
      update(qkv, head, spec, state.matrices, kept, sigmoid(b), target);
    }
  }
}

/** silu of the causal depthwise convolution at this token; moves the window of inputs on by one. */
function convolve(
  input: Float32Array,
  conv: Float32Array,
  taps: number,
  { inputs }: LayerState,
): Float64Array {
  const channels = input.length;
  const out = new Float64Array(channels);
  for (let c = 0; c < channels; c++) {
    let sum = at(input, c) * at(conv, c * taps + taps - 1);
    for (let j = 0; j < taps - 1; j++) sum += at(inputs, j * channels + c) * at(conv, c * taps + j);
    out[c] = sum * sigmoid(sum);
  }
  inputs.copyWithin(0, channels);
  inputs.set(input, (taps - 2) * channels);
  return out;
}

/** Scales every query head to length 1 / sqrt(keyDim) and every key head to length 1. */
function unitHeads(qkv: Float64Array, { keyHeads, keyDim }: StateLayerSpec): void {
  for (let head = 0; head < 2 * keyHeads; head++) {
    const part = qkv.subarray(head * keyDim, (head + 1) * keyDim);
    const square = part.reduce((sum, v) => sum + v * v, 0);
    const length = Math.sqrt(square + UNIT_NORM_EPS) * (head < keyHeads ? Math.sqrt(keyDim) : 1);
    for (let i = 0; i < keyDim; i++) part[i] = (part[i] ?? 0) / length;
  }
}

/** One step of one value head's matrix [keyDim, valueDim], and its reading by the query. */
function update(
  qkv: Float64Array,
  head: number,
  { keyHeads, valueHeads, keyDim, valueDim, tiled }: StateLayerSpec,
  matrices: Float32Array,
  kept: number,
  beta: number,
  out: Float32Array,
): void {
  const keyHead = tiled === true ? head % keyHeads : Math.floor((head * keyHeads) / valueHeads);
  const [q, k] = [keyHead * keyDim, (keyHeads + keyHead) * keyDim];
  const v = 2 * keyHeads * keyDim + head * valueDim;
  const matrix = matrices.subarray(head * keyDim * valueDim, (head + 1) * keyDim * valueDim);
  for (let j = 0; j < valueDim; j++) {
    let recalled = 0;
    for (let i = 0; i < keyDim; i++) recalled += (qkv[k + i] ?? 0) * at(matrix, i * valueDim + j);
    const delta = beta * ((qkv[v + j] ?? 0) - kept * recalled);
    let sum = 0;
    for (let i = 0; i < keyDim; i++) {
      const value = kept * at(matrix, i * valueDim + j) + (qkv[k + i] ?? 0) * delta;
      matrix[i * valueDim + j] = value;
      sum += (qkv[q + i] ?? 0) * value;
    }
    out[j] = sum;
  }
}

function softplus(x: number): number {
  return x > 30 ? x : Math.log1p(Math.exp(x));
}
