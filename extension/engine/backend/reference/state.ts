import type { StateLayerSpec } from '../../core/program';
import { EngineError } from '../../errors';
import type { StepBatch } from '../backend';
import { bytesOf, copyFloats, joinFloats, splitFloats } from './bytes';

/** The recurrent state of one layer in one slot; see StateLayerSpec. */
export interface LayerState {
  /** [taps - 1, channels], oldest first */
  readonly inputs: Float32Array;
  /** [valueHeads, keyDim, valueDim] */
  readonly matrices: Float32Array;
}

/** Position of a slot whose last step did not end. */
const VOID = -1;

/** Recurrent states of all layers by slot, and how many tokens each slot has seen. */
export class StatePool {
  private readonly slots: readonly (readonly LayerState[])[];
  private readonly positions: Int32Array;

  constructor(
    readonly layers: readonly StateLayerSpec[],
    numSlots: number,
  ) {
    this.slots = Array.from({ length: numSlots }, () =>
      layers.map((l) => ({
        inputs: new Float32Array((l.taps - 1) * channelsOf(l)),
        matrices: new Float32Array(l.valueHeads * l.keyDim * l.valueDim),
      })),
    );
    this.positions = new Int32Array(numSlots);
  }

  /** Of one slot. */
  get stateBytes(): number {
    return bytesOf(this.partsOf(0));
  }

  of(slot: number, layer: number): LayerState {
    const state = this.slots[slot]?.[layer];
    if (state !== undefined) return state;
    throw new EngineError('bad_request', `[state] slot ${slot} of layer ${layer}: there is none`);
  }

  /**
   * Checks that every sequence goes on where its slot stands, clears the slots of those that start, and marks all as
   * void until `commit`.
   */
  begin(batch: StepBatch): void {
    if (this.layers.length === 0) return;
    const starts = this.starts(batch);
    for (const { slot, start } of starts) {
      const seen = this.positions[slot] ?? VOID;
      if (start === 0 || start === seen) continue;
      const found = seen === VOID ? 'is void after a failed step' : `holds ${seen} tokens`;
      throw new EngineError('bad_request', `[step] state slot ${slot} ${found}, expected ${start}`);
    }
    for (const { slot, start } of starts) {
      this.positions[slot] = VOID;
      if (start > 0) continue;
      for (const { inputs, matrices } of this.slots[slot] ?? []) {
        inputs.fill(0);
        matrices.fill(0);
      }
    }
  }

  /** The step ended: the slots now stand for its tokens too. */
  commit(batch: StepBatch): void {
    if (this.layers.length === 0) return;
    for (const { slot, start, count } of this.starts(batch)) this.positions[slot] = start + count;
  }

  /** Makes slot `to` an equal of slot `from`. */
  copy(from: number, to: number): void {
    copyFloats(this.partsOf(from), this.partsOf(to));
    this.positions[to] = this.positions[from] ?? VOID;
  }

  /** Throws bad_request when the slot's last step did not end. */
  read(slot: number): Uint8Array {
    const parts = this.partsOf(slot);
    if (this.positions[slot] !== VOID) return joinFloats(parts);
    throw new EngineError(
      'bad_request',
      `[read_state] state slot ${slot} is void after a failed step`,
    );
  }

  /** The slot stands for `length` tokens from now on. */
  write(slot: number, length: number, bytes: Uint8Array): void {
    splitFloats(bytes, this.partsOf(slot), '[write_state]');
    this.positions[slot] = length;
  }

  /** All layers' state in one slot. */
  private partsOf(slot: number): Float32Array[] {
    return [...this.layers.keys()].flatMap((layer) => {
      const { inputs, matrices } = this.of(slot, layer);
      return [inputs, matrices];
    });
  }

  private starts({ offsets, positions, stateSlots }: StepBatch) {
    return Array.from({ length: offsets.length - 1 }, (_, s) => {
      const begin = offsets[s] ?? 0;
      const count = (offsets[s + 1] ?? 0) - begin;
      return { slot: stateSlots?.[s] ?? 0, start: positions[begin] ?? 0, count };
    });
  }
}

/** Channels of the convolution: q, k and v side by side. */
export function channelsOf({ keyHeads, valueHeads, keyDim, valueDim }: StateLayerSpec): number {
  return 2 * keyHeads * keyDim + valueHeads * valueDim;
}
