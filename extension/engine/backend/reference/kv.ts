import type { KvLayerSpec } from '../../core/program';
import { EngineError } from '../../errors';
import type { KvBits, StepBatch } from '../backend';
import { roundToCodes } from './kv_codes';

/** Keys and values of all layers: per layer [blocks * blockSize, kvHeads * dim] float32, one row a token. */
export class KvPool {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];

  constructor(
    readonly layers: readonly KvLayerSpec[],
    readonly blocks: number,
    readonly blockSize: number,
    private readonly bits: KvBits = 16,
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

  /** Copies one token's key and value rows into the pool, rounded when it has 8 bits. */
  write(layer: number, row: number, key: Float32Array, value: Float32Array): void {
    const spec = this.layers[layer];
    const put = (pool: Float32Array | undefined, x: Float32Array, dim = 0) => {
      pool?.set(x, row * x.length);
      if (this.bits === 8 && pool !== undefined)
        roundToCodes(pool.subarray(row * x.length, (row + 1) * x.length), dim);
    };
    put(this.keys[layer], key, spec?.keyDim);
    put(this.values[layer], value, spec?.valueDim);
  }

  /** All layers' rows of one block. Throws bad_request when there is no such block. */
  rowsOf(block: number): Float32Array[] {
    if (block < 0 || block >= this.blocks) {
      throw new EngineError(
        'bad_request',
        `[kv] block: got ${block}, expected 0 to ${this.blocks - 1}`,
      );
    }
    return [...this.keys, ...this.values].map((rows) => {
      const size = rows.length / this.blocks;
      return rows.subarray(block * size, (block + 1) * size);
    });
  }
}
