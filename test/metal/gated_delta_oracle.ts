/** The gated delta rule in float64, row by row: equation 10 of https://arxiv.org/abs/2412.06464. */
import type { StateLayerSpec } from '../../extension/engine/core/program';
import type { Step } from './batch';
import type { Random } from './numbers';

/** How the numbers of a test are drawn. */
export interface Nature {
  /** Of exp(decay): how fast heads forget. */
  readonly rate: number;
  /** Added to every key, so that keys are alike. */
  readonly common: number;
  /** Of the gates: with large ones a row keeps all or nothing. */
  readonly gates: number;
}

/** Inputs of the op, float32; matrices [slots, valueHeads, valueDim, keyDim] as the GPU has them. */
export interface DeltaInputs {
  readonly x: Float32Array;
  readonly conv: Float32Array;
  readonly decay: Float32Array;
  readonly timeBias: Float32Array;
  readonly inputs: Float32Array;
  readonly matrices: Float32Array;
}

export const channelsOf = ({ keyHeads, valueHeads, keyDim, valueDim }: StateLayerSpec): number =>
  2 * keyHeads * keyDim + valueHeads * valueDim;

export function randomInputs(
  spec: StateLayerSpec,
  rows: number,
  slots: number,
  { rate, common, gates }: Nature,
  random: Random,
): DeltaInputs {
  const { keyHeads, valueHeads, keyDim, valueDim, taps } = spec;
  const channels = channelsOf(spec);
  const stride = channels + 2 * valueHeads;
  const x = random.floats(rows * stride);
  for (let row = 0; row < rows; row++) {
    for (let i = keyHeads * keyDim; i < 2 * keyHeads * keyDim; i++)
      x[row * stride + i] = (x[row * stride + i] as number) + common;
    for (let i = channels; i < stride; i++)
      x[row * stride + i] = (x[row * stride + i] as number) * gates;
  }
  return {
    x,
    conv: random.floats(channels * taps).map((v) => v + 0.5),
    decay: random.floats(valueHeads).map((v) => v + Math.log(rate)),
    timeBias: random.floats(valueHeads),
    inputs: random.floats(slots * (taps - 1) * channels),
    matrices: random.floats(slots * valueHeads * keyDim * valueDim),
  };
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** The output [rows, valueHeads * valueDim]; `inputs` and `matrices` (float64 copies) become those after the step. */
export function gatedDelta(
  spec: StateLayerSpec,
  step: Step,
  slots: Int32Array,
  { x, conv, decay, timeBias }: DeltaInputs,
  inputs: Float64Array,
  matrices: Float64Array,
): Float64Array {
  const { keyHeads, valueHeads, keyDim, valueDim, taps, tiled = false } = spec;
  const channels = channelsOf(spec);
  const stride = channels + 2 * valueHeads;
  const out = new Float64Array(step.rows * valueHeads * valueDim);
  for (let row = 0; row < step.rows; row++) {
    const slot = slots[step.sequenceOf[row] as number] as number;
    const window = inputs.subarray(
      slot * (taps - 1) * channels,
      (slot + 1) * (taps - 1) * channels,
    );
    const states = matrices.subarray(
      slot * valueHeads * keyDim * valueDim,
      (slot + 1) * valueHeads * keyDim * valueDim,
    );
    if (step.positions[row] === 0) {
      window.fill(0);
      states.fill(0);
    }
    const own = x.subarray(row * stride, (row + 1) * stride);
    const qkv = Float64Array.from({ length: channels }, (_, c) => {
      let sum = (own[c] as number) * (conv[c * taps + taps - 1] as number);
      for (let j = 0; j < taps - 1; j++)
        sum += (window[j * channels + c] as number) * (conv[c * taps + j] as number);
      return sum * sigmoid(sum);
    });
    window.copyWithin(0, channels);
    window.set(own.subarray(0, channels), (taps - 2) * channels);
    const unit = (start: number, scale: number) => {
      const part = qkv.slice(start, start + keyDim);
      const length = Math.sqrt(part.reduce((sum, v) => sum + v * v, 0) + 1e-6);
      return part.map((v) => (v * scale) / length);
    };
    for (let head = 0; head < valueHeads; head++) {
      const keyHead = tiled ? head % keyHeads : Math.floor((head * keyHeads) / valueHeads);
      const q = unit(keyHead * keyDim, 1 / Math.sqrt(keyDim));
      const k = unit((keyHeads + keyHead) * keyDim, 1);
      const beta = sigmoid(own[channels + head] as number);
      const a = (own[channels + valueHeads + head] as number) + (timeBias[head] as number);
      const kept = Math.exp(-Math.exp(decay[head] as number) * Math.log1p(Math.exp(a)));
      for (let j = 0; j < valueDim; j++) {
        const state = states.subarray(
          (head * valueDim + j) * keyDim,
          (head * valueDim + j + 1) * keyDim,
        );
        const dot = (v: Float64Array) => v.reduce((sum, w, i) => sum + w * (state[i] as number), 0);
        const value = qkv[2 * keyHeads * keyDim + head * valueDim + j] as number;
        const delta = beta * (value - kept * dot(k));
        for (let i = 0; i < keyDim; i++)
          state[i] = kept * (state[i] as number) + (k[i] as number) * delta;
        out[(row * valueHeads + head) * valueDim + j] = dot(q);
      }
    }
  }
  return out;
}
