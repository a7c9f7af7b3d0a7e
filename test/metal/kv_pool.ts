/** Keys or values as the pool of metal/paging.h holds them. */
import { KV_GROUP } from '../../extension/engine/backend/backend';
import { codesOf } from '../../extension/engine/backend/reference/kv_codes';
import { BLOCK } from './batch';
import { load, store } from './numbers';
import type { Bytes } from './runner';

export type KvType = 'f32' | 'f16' | 'i8';

/** Bytes of a head's block of 8-bit codes, with the scales behind them. */
const headBytes = (dim: number) => BLOCK * (dim + 4 * Math.ceil(dim / KV_GROUP));

/** Rows [n * BLOCK, dim] of float32, and what the pool keeps of them. */
export function storeRows(
  type: KvType,
  rows: Float32Array,
  dim: number,
): { readonly bytes: Bytes; readonly values: Float32Array } {
  if (type !== 'i8') return store(type, rows);
  const heads = rows.length / (BLOCK * dim);
  const bytes = new Uint8Array(heads * headBytes(dim));
  for (let head = 0; head < heads; head++) {
    const begin = head * headBytes(dim);
    const codes = new Int8Array(bytes.buffer, begin, BLOCK * dim);
    const scales = new Float32Array(
      bytes.buffer,
      begin + BLOCK * dim,
      (headBytes(dim) / BLOCK - dim) * 4,
    );
    let group = 0;
    for (let token = 0; token < BLOCK; token++) {
      const row = rows.subarray((head * BLOCK + token) * dim, (head * BLOCK + token + 1) * dim);
      for (let first = 0; first < dim; first += KV_GROUP) {
        const { codes: own, scale } = codesOf(row.subarray(first, first + KV_GROUP));
        codes.set(own, token * dim + first);
        scales[group++] = scale;
      }
    }
  }
  return { bytes, values: loadRows(type, Buffer.from(bytes.buffer), dim) };
}

/** What the bytes of a pool stand for. */
export function loadRows(type: KvType, bytes: Buffer, dim: number): Float32Array {
  if (type !== 'i8') return load(type, bytes);
  const heads = bytes.length / headBytes(dim);
  const rows = new Float32Array(heads * BLOCK * dim);
  const groups = Math.ceil(dim / KV_GROUP);
  for (const i of rows.keys()) {
    const [row, column] = [Math.floor(i / dim), i % dim];
    const begin = Math.floor(row / BLOCK) * headBytes(dim);
    const token = row % BLOCK;
    const group = token * groups + Math.floor(column / KV_GROUP);
    const scale = bytes.readFloatLE(begin + BLOCK * dim + 4 * group);
    rows[i] = bytes.readInt8(begin + token * dim + column) * scale;
  }
  return rows;
}
