import { quote } from '../bad_model';
import type { HeaderCursor } from './cursor';
import { type GgufType, ggufType } from './types';

/** A tensor as the header describes it. */
export interface GgufTensor {
  readonly name: string;
  readonly type: GgufType;
  /** Row-major: the format's dimensions in reverse. */
  readonly shape: readonly number[];
  /** Absolute path. */
  readonly file: string;
  /** Byte offset in the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The largest public files hold some 2,000: experts are stacked. */
const MAX_TENSORS = 65_536;
/** ggml's own limit, which counts a terminating zero. */
const MAX_NAME_BYTES = 63;
const MAX_RANK = 4;
const MAX_ELEMENTS = BigInt(Number.MAX_SAFE_INTEGER);
/** Name of one byte, rank, one dimension, type, offset. */
const MIN_ENTRY_BYTES = 8 + 1 + 4 + 8 + 4 + 8;

/** A tensor before it is known where the data section starts. */
interface TensorInfo {
  readonly name: string;
  readonly type: GgufType;
  readonly shape: readonly number[];
  readonly byteLength: number;
  /** From the start of the data section. */
  readonly offset: bigint;
}

export function countOfTensors(cursor: HeaderCursor): number {
  return cursor.count('tensors', MIN_ENTRY_BYTES, MAX_TENSORS);
}

/** Reads `count` descriptions, after which the data section begins. `size`: of the file. */
export function readTensors(
  cursor: HeaderCursor,
  count: number,
  { file, size, alignment }: { file: string; size: number; alignment: number },
): ReadonlyMap<string, GgufTensor> {
  const infos = new Map<string, TensorInfo>();
  for (let i = 0; i < count; i++) {
    const info = readInfo(cursor, i);
    if (infos.has(info.name)) throw cursor.error(`tensor ${quote(info.name)}: declared twice`);
    infos.set(info.name, info);
  }
  return place(cursor, [...infos.values()], { file, size, alignment });
}

/** Tensors lie in the order of their descriptions, each on the next aligned offset, and fill the file. */
function place(
  cursor: HeaderCursor,
  infos: readonly TensorInfo[],
  { file, size, alignment }: { file: string; size: number; alignment: number },
): ReadonlyMap<string, GgufTensor> {
  const start = alignUp(cursor.position, alignment);
  const tensors = new Map<string, GgufTensor>();
  let next = 0; // from the start of the data section
  let end = 0;
  for (const { name, type, shape, byteLength, offset } of infos) {
    if (offset !== BigInt(next)) {
      throw cursor.error(`tensor ${quote(name)}: offset ${offset}, expected ${next}`);
    }
    tensors.set(name, { name, type, shape, file, offset: start + next, byteLength });
    end = next + byteLength;
    next = alignUp(end, alignment);
    if (start + end > size) {
      const problem = `needs the file to have ${start + end} bytes, it has ${size}`;
      throw cursor.error(`tensor ${quote(name)}: ${problem} (truncated)`);
    }
  }
  // The last tensor's padding may be left out.
  if (infos.length > 0 && size > start + next) {
    throw cursor.error(`tensors cover ${start + end} of ${size} bytes (trailing data)`);
  }
  return tensors;
}

function readInfo(cursor: HeaderCursor, index: number): TensorInfo {
  const name = cursor.string(`name of tensor ${index}`);
  const at = `tensor ${quote(name)}`;
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > MAX_NAME_BYTES || /[\u0000-\u001f\u007f]/.test(name)) {
    const expected = `expected 1 to ${MAX_NAME_BYTES} bytes of printable characters`;
    throw cursor.error(`${at}: bad name of ${bytes} bytes, ${expected}`);
  }
  const rank = cursor.u32(at);
  if (rank === 0 || rank > MAX_RANK) {
    throw cursor.error(`${at}: got ${rank} dimensions, expected 1 to ${MAX_RANK}`);
  }
  const dimensions = Array.from({ length: rank }, () => cursor.u64(at));
  const typeId = cursor.u32(at);
  const type = ggufType(typeId);
  if (type === undefined) throw cursor.error(`${at}: unknown type ${typeId}`);
  const elements = dimensions.reduce((product, size) => product * size, 1n); // never overflows
  if (elements === 0n || elements * BigInt(type.blockBytes) > MAX_ELEMENTS) {
    const expected = 'expected 1 to 2^53 bytes of values';
    throw cursor.error(`${at}: bad shape [${dimensions.join(', ')}], ${expected}`);
  }
  const shape = dimensions.map(Number).reverse();
  const cols = shape.at(-1) ?? 0;
  if (cols % type.blockSize !== 0) {
    throw cursor.error(
      `${at}: ${cols} columns are no multiple of ${type.name}'s block of ${type.blockSize}`,
    );
  }
  const byteLength = (Number(elements) / type.blockSize) * type.blockBytes;
  return { name, type, shape, byteLength, offset: cursor.u64(at) };
}

function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
