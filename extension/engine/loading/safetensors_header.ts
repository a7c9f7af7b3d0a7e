import { badModel, messageOf, quote } from './bad_model';
import type { DType, StoredTensor } from './weights';

/** Bytes of the length field that a safetensors file begins with. */
export const LENGTH_BYTES = 8;
/** A header holds about 100 bytes a tensor: 16 MiB is beyond every real checkpoint and still parses in a moment. */
export const MAX_HEADER_BYTES = 16 * 1024 * 1024;
/** The largest public shards hold some 20,000 tensors (experts stored one by one). */
const MAX_TENSORS = 65_536;
const MAX_RANK = 8;
const MAX_NAME = 256;

const DTYPE_BYTES: ReadonlyMap<string, [DType, number]> = new Map<string, [DType, number]>([
  ['F64', ['F64', 8]],
  ['F32', ['F32', 4]],
  ['F16', ['F16', 2]],
  ['BF16', ['BF16', 2]],
  ['I64', ['I64', 8]],
  ['I32', ['I32', 4]],
  ['I16', ['I16', 2]],
  ['I8', ['I8', 1]],
  ['U64', ['U64', 8]],
  ['U32', ['U32', 4]],
  ['U16', ['U16', 2]],
  ['U8', ['U8', 1]],
  ['BOOL', ['BOOL', 1]],
]);

/**
 * Parses the JSON header of a safetensors file of `fileSize` bytes. Stricter than the format's reference reader: no
 * leading blanks, rank at most 8, no control characters in names. The tensors must cover the data section exactly, so
 * that two readers can never see different weights in one file.
 * Format: https://github.com/huggingface/safetensors#format
 */
export function parseSafetensorsHeader(
  file: string,
  header: Uint8Array,
  fileSize: number,
): ReadonlyMap<string, StoredTensor> {
  const entries = Object.entries(parseJson(file, header));
  if (entries.length > MAX_TENSORS) {
    throw badModel(file, `header: got ${entries.length} tensors, expected at most ${MAX_TENSORS}`);
  }
  const dataStart = LENGTH_BYTES + header.length;
  // A map, because a tensor may be called `__proto__`.
  const tensors = new Map<string, StoredTensor>();
  for (const [name, entry] of entries) {
    if (name === '__metadata__') checkMetadata(file, entry);
    else tensors.set(name, parseTensor(file, name, entry, dataStart));
  }
  checkCoverage(file, [...tensors.values()], dataStart, fileSize);
  return tensors;
}

function parseJson(file: string, header: Uint8Array): object {
  if (header[0] !== 0x7b) throw badModel(file, 'header: must begin with "{"');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(header);
  } catch (error) {
    throw badModel(file, 'header: not UTF-8', error);
  }
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw badModel(file, `header: not JSON: ${messageOf(error)}`, error);
  }
}

function checkMetadata(file: string, metadata: unknown): void {
  const isStringMap =
    isRecord(metadata) && Object.values(metadata).every((v) => typeof v === 'string');
  if (!isStringMap) throw badModel(file, '__metadata__: must map strings to strings');
}

function parseTensor(file: string, name: string, entry: unknown, dataStart: number): StoredTensor {
  const at = `tensor ${quote(name)}`;

  if (name.length === 0 || name.length > MAX_NAME || /[\u0000-\u001f\u007f]/.test(name)) {
    throw badModel(file, `${at}: bad name: expected 1 to ${MAX_NAME} printable characters`);
  }
  if (!isRecord(entry)) throw badModel(file, `${at}: got ${quote(entry)}, expected an object`);
  const { dtype, shape, data_offsets: offsets } = entry;
  const known = typeof dtype === 'string' ? DTYPE_BYTES.get(dtype) : undefined;
  if (known === undefined) {
    throw badModel(
      file,
      `${at}: unknown dtype ${quote(dtype)}, expected ${[...DTYPE_BYTES.keys()].join(', ')}`,
    );
  }
  if (!isNaturals(shape) || shape.length > MAX_RANK) {
    throw badModel(
      file,
      `${at}: bad shape ${quote(shape)}, expected at most ${MAX_RANK} integers from 0 to 2^53 - 1`,
    );
  }
  const [begin, end, ...more] = isNaturals(offsets) ? offsets : [];
  if (begin === undefined || end === undefined || more.length > 0 || begin > end) {
    throw badModel(
      file,
      `${at}: bad data_offsets ${quote(offsets)}, expected [begin, end] with 0 <= begin <= end`,
    );
  }
  const needed = shape.reduce((product, size) => product * BigInt(size), BigInt(known[1])); // never overflows
  if (needed !== BigInt(end - begin)) {
    throw badModel(
      file,
      `${at}: data_offsets: got ${end - begin} bytes, expected ${needed} for its shape`,
    );
  }
  return { name, dtype: known[0], shape, file, offset: dataStart + begin, byteLength: end - begin };
}

/** No hole, no overlap, nothing after the last tensor. */
function checkCoverage(
  file: string,
  tensors: StoredTensor[],
  dataStart: number,
  fileSize: number,
): void {
  let position = dataStart;
  for (const tensor of tensors.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)) {
    if (tensor.offset !== position) {
      const kind = tensor.offset > position ? 'hole' : 'overlap';
      throw badModel(
        file,
        `tensor ${quote(tensor.name)}: starts at ${tensor.offset}, expected ${position} (${kind})`,
      );
    }
    position += tensor.byteLength;
  }
  if (position !== fileSize) {
    const kind = position > fileSize ? 'truncated' : 'trailing data';
    throw badModel(file, `tensors cover ${position} of ${fileSize} bytes (${kind})`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNaturals(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((v) => Number.isSafeInteger(v) && v >= 0);
}
