import { KV_GROUP, type KvBits, type Precision } from '../backend/backend';
import type { KvLayerSpec, Program } from '../core/program';

/** Memory for cached sequences beyond the one that is running. */
const CACHE_BYTES = 256 * 2 ** 20;
const MAX_SLOTS = 4;
/** Memory for recurrent states, of running sequences and kept ones. */
const STATE_BYTES = 512 * 2 ** 20;

/** Whole contexts that the KV pool is to hold. */
export function slotsFor(
  program: Program,
  contextLength: number,
  precision: Precision,
  kvBits: KvBits,
): number {
  const perToken = program.kvLayers
    .map((layer) => tokenBytes(layer, precision, kvBits))
    .reduce((sum, bytes) => sum + bytes, 0);
  const slotBytes = Math.max(perToken * contextLength, 1);
  return Math.max(1, Math.min(MAX_SLOTS, Math.floor(CACHE_BYTES / slotBytes)));
}

/** Of a token's keys and values in one layer. */
function tokenBytes(layer: KvLayerSpec, precision: Precision, kvBits: KvBits): number {
  const { kvHeads, keyDim, valueDim } = layer;
  if (kvBits === 16) return kvHeads * (keyDim + valueDim) * (precision === 'exact' ? 4 : 2);
  const withScales = (dim: number) => dim + 4 * Math.ceil(dim / KV_GROUP);
  return kvHeads * (withScales(keyDim) + withScales(valueDim));
}

/** Slots for recurrent state; 0 for models that have none. */
export function stateSlotsFor({ stateLayers = [] }: Program, batchSize: number): number {
  if (stateLayers.length === 0) return 0;
  const bytes = stateLayers.reduce((sum, l) => {
    const inputs = (l.taps - 1) * (2 * l.keyHeads * l.keyDim + l.valueHeads * l.valueDim);
    return sum + 4 * (inputs + l.valueHeads * l.keyDim * l.valueDim);
  }, 0);
  return Math.max(2, Math.min(2 * batchSize, Math.floor(STATE_BYTES / bytes)));
}
