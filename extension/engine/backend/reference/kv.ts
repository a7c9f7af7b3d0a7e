import type { KvLayerSpec } from '../../core/program';
import type { StepBatch } from '../backend';

/** Keys and values of all layers: per layer [blocks * blockSize, kvHeads * dim] float32, one row a token. */
export class KvPool {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];

  constructor(
    readonly layers: readonly KvLayerSpec[],
    readonly blocks: number,
    readonly blockSize: number,
  ) {
    const tokens = blocks * blockSize;
    this.keys = layers.map((l) => new Float32Array(tokens * l.kvHeads * l.keyDim));
    this.values = layers.map((l) => new Float32Array(tokens * l.kvHeads * l.valueDim));
  }

  /** Row of the pool that holds `position` of a sequence. */
  row(batch: StepBatch, sequence: number, position: number): number {
    const entry = sequence * batch.blocksPerSequence + Math.floor(position / this.blockSize);
    const block = batch.blockTables[entry] ?? -1;
    return block * this.blockSize + (position % this.blockSize);
  }

  /** Copies one token's key and value rows into the pool. */
  write(layer: number, row: number, key: Float32Array, value: Float32Array): void {
    this.keys[layer]?.set(key, row * key.length);
    this.values[layer]?.set(value, row * value.length);
  }

  /** Copies all layers' rows of one block. */
  copyBlock(source: number, destination: number): void {
    for (const rows of [...this.keys, ...this.values]) {
      const size = rows.length / this.blocks;
      rows.copyWithin(destination * size, source * size, (source + 1) * size);
    }
  }
}
