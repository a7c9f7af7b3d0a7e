import type { GgufType } from '../../../../extension/engine/loading/gguf/types';
import { ggufType } from '../../../../extension/engine/loading/gguf/types';

/** Value types of metadata that the tests write. */
export type Kind = 'u8' | 'u16' | 'u32' | 'i32' | 'f32' | 'bool' | 'string' | 'u64';
const KIND_IDS: Readonly<Record<Kind, number>> = {
  u8: 0,
  u16: 2,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  u64: 10,
};
const ARRAY = 9;

export interface Value {
  readonly kind: Kind;
  readonly value: unknown;
}

export interface Tensor {
  readonly name: string;
  /** Type id; default F32. */
  readonly type?: number;
  /** Row-major. */
  readonly shape: readonly number[];
  readonly data?: Uint8Array;
}

export interface GgufContent {
  readonly metadata?: Readonly<Record<string, Value>>;
  readonly tensors?: readonly Tensor[];
  readonly version?: number;
  readonly alignment?: number;
}

export const u32 = (value: number | readonly number[]): Value => ({ kind: 'u32', value });
export const u16 = (value: number): Value => ({ kind: 'u16', value });
export const i32 = (value: number | readonly number[]): Value => ({ kind: 'i32', value });
export const f32 = (value: number | readonly number[]): Value => ({ kind: 'f32', value });
export const text = (value: string | readonly string[]): Value => ({ kind: 'string', value });
export const flag = (value: boolean | readonly boolean[]): Value => ({ kind: 'bool', value });

/** A well-formed GGUF file; tensors without data are zeros. */
export function gguf(content: GgufContent): Buffer {
  const { metadata = {}, tensors = [], version = 3, alignment = 32 } = content;
  const entries = Object.entries(metadata);
  const sized = tensors.map((tensor) => ({ ...tensor, bytes: tensor.data ?? zeros(tensor) }));
  let offset = 0;
  const infos = sized.map(({ name, type = 0, shape, bytes }) => {
    const at = offset;
    offset += padded(bytes.length, alignment);
    const dims = [...shape].reverse().map(long);
    return Buffer.concat([string(name), int(shape.length), ...dims, int(type), long(at)]);
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    int(version),
    long(tensors.length),
    long(entries.length),
    ...entries.map(([key, value]) => Buffer.concat([string(key), encode(value)])),
    ...infos,
  ]);
  return Buffer.concat([pad(head, alignment), ...sized.map(({ bytes }) => pad(bytes, alignment))]);
}

function zeros({ type = 0, shape }: Tensor): Uint8Array {
  const { blockSize, blockBytes } = ggufType(type) as GgufType;
  const elements = shape.reduce((product, size) => product * size, 1);
  return new Uint8Array((elements / blockSize) * blockBytes);
}

function encode({ kind, value }: Value): Buffer {
  if (value instanceof Uint8Array) {
    return Buffer.concat([int(ARRAY), int(KIND_IDS.u8), long(value.length), value]);
  }
  if (!Array.isArray(value)) return Buffer.concat([int(KIND_IDS[kind]), scalar(kind, value)]);
  const values = (value as unknown[]).map((item) => scalar(kind, item));
  return Buffer.concat([int(ARRAY), int(KIND_IDS[kind]), long(values.length), ...values]);
}

function scalar(kind: Kind, value: unknown): Buffer {
  if (kind === 'string') return string(value as string);
  if (kind === 'bool') return Buffer.of(value === true ? 1 : 0);
  const number = value as number;
  const buffer = Buffer.alloc(8);
  switch (kind) {
    case 'u8':
      buffer.writeUInt8(number);
      return buffer.subarray(0, 1);
    case 'u16':
      buffer.writeUInt16LE(number);
      return buffer.subarray(0, 2);
    case 'u32':
      return int(number);
    case 'i32':
      buffer.writeInt32LE(number);
      return buffer.subarray(0, 4);
    case 'f32':
      buffer.writeFloatLE(number);
      return buffer.subarray(0, 4);
    case 'u64':
      return long(number);
  }
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([long(bytes.length), bytes]);
}

function int(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function long(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
}

function pad(bytes: Uint8Array, alignment: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(padded(bytes.length, alignment) - bytes.length)]);
}

function padded(length: number, alignment: number): number {
  return Math.ceil(length / alignment) * alignment;
}
