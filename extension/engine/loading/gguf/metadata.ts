import { quote } from '../bad_model';
import type { HeaderCursor } from './cursor';
import { TextList } from './text_list';

/** A metadata value; 64-bit integers that a number cannot hold are bigint. */
export type GgufValue = string | number | bigint | boolean | readonly GgufScalar[] | TextList;
type GgufScalar = string | number | bigint | boolean;
export type GgufMetadata = ReadonlyMap<string, GgufValue>;

/** Real files have some 50. */
const MAX_KEYS = 4_096;
const MAX_KEY_LENGTH = 256;
/** Tokens, merges and scores of one model, with room. */
const MAX_ARRAY = 1 << 20;
const MAX_ELEMENTS = 1 << 22;
/** Key of one byte, type, value of one byte. */
const MIN_ENTRY_BYTES = 8 + 1 + 4 + 1;
const ARRAY = 9;

interface ScalarType {
  readonly minBytes: number;
  readonly read: (cursor: HeaderCursor, what: string) => GgufScalar;
}

/** Value types by their number in the format. */
const SCALARS: ReadonlyMap<number, ScalarType> = new Map<number, ScalarType>([
  [0, { minBytes: 1, read: (cursor, what) => cursor.u8(what) }],
  [1, { minBytes: 1, read: (cursor, what) => cursor.i8(what) }],
  [2, { minBytes: 2, read: (cursor, what) => cursor.u16(what) }],
  [3, { minBytes: 2, read: (cursor, what) => cursor.i16(what) }],
  [4, { minBytes: 4, read: (cursor, what) => cursor.u32(what) }],
  [5, { minBytes: 4, read: (cursor, what) => cursor.i32(what) }],
  [6, { minBytes: 4, read: (cursor, what) => cursor.f32(what) }],
  [7, { minBytes: 1, read: readBool }],
  [8, { minBytes: 8, read: (cursor, what) => cursor.string(what) }],
  [10, { minBytes: 8, read: (cursor, what) => narrow(cursor.u64(what)) }],
  [11, { minBytes: 8, read: (cursor, what) => narrow(cursor.i64(what)) }],
  [12, { minBytes: 8, read: (cursor, what) => cursor.f64(what) }],
]);

/** The key of the alignment of tensors, whose type the format fixes. */
export const ALIGNMENT_KEY = 'general.alignment';
const UINT32 = 4;
const STRING = 8;
/** Lists of strings that are long: a `TextList`. */
export const TOKENS_KEY = 'tokenizer.ggml.tokens';
export const MERGES_KEY = 'tokenizer.ggml.merges';
const LONG_KEYS: readonly string[] = [TOKENS_KEY, MERGES_KEY];

/** `count` is the number of entries that the header declares, as read by `countOfKeys`. */
export function readMetadata(cursor: HeaderCursor, count: number): GgufMetadata {
  const metadata = new Map<string, GgufValue>();
  let elements = 0;
  for (let i = 0; i < count; i++) {
    const key = readKey(cursor, i);
    if (metadata.has(key)) throw cursor.error(`metadata: key ${quote(key)} twice`);
    const type = cursor.u32(`metadata ${quote(key)}`);
    if (key === ALIGNMENT_KEY && type !== UINT32) {
      throw cursor.error(
        `metadata ${quote(key)}: got value type ${type}, expected ${UINT32} (u32)`,
      );
    }
    const value = readValue(cursor, key, type);
    if (Array.isArray(value) || value instanceof TextList) elements += value.length;
    if (elements > MAX_ELEMENTS) {
      throw cursor.error(`metadata: got more than ${MAX_ELEMENTS} array elements`);
    }
    metadata.set(key, value);
  }
  return metadata;
}

export function countOfKeys(cursor: HeaderCursor): number {
  return cursor.count('metadata keys', MIN_ENTRY_BYTES, MAX_KEYS);
}

function readKey(cursor: HeaderCursor, index: number): string {
  const key = cursor.string(`metadata key ${index}`);
  if (key.length > 0 && key.length <= MAX_KEY_LENGTH && !/[\u0000-\u001f\u007f]/.test(key))
    return key;
  const expected = `expected 1 to ${MAX_KEY_LENGTH} printable characters`;
  throw cursor.error(`metadata key ${index}: got ${quote(key)}, ${expected}`);
}

function readValue(cursor: HeaderCursor, key: string, type: number): GgufValue {
  const what = `metadata ${quote(key)}`;
  if (type !== ARRAY) return scalarType(cursor, what, type).read(cursor, what);
  const elementType = cursor.u32(what);
  if (elementType === ARRAY) throw cursor.error(`${what}: got an array of arrays`);
  const { minBytes, read } = scalarType(cursor, what, elementType);
  const count = cursor.count(`${what}: array length`, minBytes, MAX_ARRAY);
  if (elementType === STRING && LONG_KEYS.includes(key)) return cursor.strings(count, what);
  const values: GgufScalar[] = [];
  for (let i = 0; i < count; i++) values.push(read(cursor, what));
  return values;
}

function scalarType(cursor: HeaderCursor, what: string, type: number): ScalarType {
  const scalar = SCALARS.get(type);
  if (scalar !== undefined) return scalar;
  throw cursor.error(`${what}: unknown value type ${type}, expected 0 to 12`);
}

function readBool(cursor: HeaderCursor, what: string): boolean {
  const byte = cursor.u8(what);
  if (byte > 1) throw cursor.error(`${what}: got bool ${byte}, expected 0 or 1`);
  return byte === 1;
}

function narrow(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
