/** Weights for tests: random tensors of every coding in one file, and the store that names them. */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blockLayout } from '../../extension/engine/loading/gguf/types';
import type {
  BlockType,
  DType,
  MicroscaledMode,
  StoredTensor,
  Weight,
  WeightStore,
} from '../../extension/engine/loading/weights';

/** Numbers in [0, 1) that are the same in every run (a linear congruential generator, Numerical Recipes). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export type FloatType = 'F32' | 'F16' | 'BF16';

interface Affine {
  readonly bits: number;
  readonly groupSize: number;
  readonly scales: FloatType;
}

/** How a weight is stored: floats, MLX affine codes, GGUF blocks, or microscaled elements. */
export type Coding =
  FloatType | Affine | { readonly blocks: BlockType } | { readonly mode: MicroscaledMode };

export function codingName(coding: Coding): string {
  if (typeof coding === 'string') return coding;
  if ('blocks' in coding) return coding.blocks;
  if ('mode' in coding) return coding.mode;
  return `${coding.bits} bits, groups of ${coding.groupSize}, ${coding.scales} scales`;
}

/** Where a block has half-precision scales. */
const BLOCK_SCALES: Readonly<Record<BlockType, readonly number[]>> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q8_0: [0],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
  IQ4_NL: [0],
  IQ4_XS: [0],
  MXFP4: [],
};
/** Elements of a scale, bits of an element, and the code of a scale of about 1/16. */
const MICROSCALED = {
  mxfp4: { groupSize: 32, bits: 4, scale: 123 },
  mxfp8: { groupSize: 32, bits: 8, scale: 115 },
  nvfp4: { groupSize: 16, bits: 4, scale: 0x18 },
} as const;

/** The files of all stores of this process. */
const folder = mkdtempSync(join(tmpdir(), 'anllm-native-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
let numStores = 0;

/** A store of random weights; `close` deletes its file before the end. */
export class TestWeights implements WeightStore {
  readonly file = join(folder, `weights-${numStores++}.bin`);
  private readonly weights = new Map<string, Weight>();
  private readonly chunks: Buffer[] = [];
  private length = 0;

  constructor(private readonly random: () => number) {
    this.append(Buffer.alloc(3)); // tensors of real files are not aligned
  }

  /** Adds a weight of values in about [-1, 1] * `scale`, around `center`. */
  add(name: string, rows: number, cols: number, coding: Coding, scale = 1, center = 0): void {
    if (typeof coding === 'string') {
      const values = Array.from({ length: rows * cols }, () => center + this.signed() * scale);
      const shape = rows === 1 ? [cols] : [rows, cols];
      this.weights.set(name, { kind: 'dense', tensor: this.floats(name, shape, coding, values) });
      return;
    }
    if ('blocks' in coding) this.weights.set(name, this.blocks(name, rows, cols, coding.blocks));
    else if ('mode' in coding)
      this.weights.set(name, this.microscaled(name, rows, cols, coding.mode));
    else this.weights.set(name, this.affine(name, rows, cols, coding, scale, center));
  }

  /** A float32 matrix of these values [rows, cols]. */
  addValues(name: string, rows: number, cols: number, values: Float32Array): void {
    const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    const tensor = this.append(bytes, name, 'F32', [rows, cols]);
    this.weights.set(name, { kind: 'dense', tensor });
  }

  private affine(
    name: string,
    rows: number,
    cols: number,
    { bits, groupSize, scales: type }: Affine,
    scale: number,
    center: number,
  ): Weight {
    const groups = (rows * cols) / groupSize;
    const step = (2 * scale) / (2 ** bits - 1);
    // Scales of both signs, as MLX writes them.
    const signs = Array.from({ length: groups }, () => (this.random() < 0.5 ? -1 : 1));
    const scales = signs.map((sign) => sign * step * (0.5 + this.random() / 2));
    const biases = signs.map((sign) => -sign * scale * (0.5 + this.random() / 2) + center);
    const codes = this.bytes((rows * cols * bits) / 8);
    const shape = [rows, cols / groupSize];
    return {
      kind: 'affine',
      bits,
      groupSize,
      packed: this.append(codes, `${name}.codes`, 'U32', [rows, (cols * bits) / 32]),
      scales: this.floats(`${name}.scales`, shape, type, scales),
      biases: this.floats(`${name}.biases`, shape, type, biases),
    };
  }

  private blocks(name: string, rows: number, cols: number, type: BlockType): Weight {
    const { blockSize, blockBytes } = blockLayout(type);
    const rowBytes = (cols / blockSize) * blockBytes;
    const bytes = this.bytes(rows * rowBytes);
    for (let block = 0; block < bytes.length; block += blockBytes) {
      for (const at of BLOCK_SCALES[type]) {
        bytes.writeUInt16LE(float16(this.signed() / 16), block + at);
      }
      if (type === 'MXFP4') bytes[block] = 120 + Math.floor(this.random() * 6);
    }
    return { kind: 'gguf', type, tensor: this.append(bytes, name, 'U8', [rows, rowBytes]) };
  }

  private microscaled(name: string, rows: number, cols: number, mode: MicroscaledMode): Weight {
    const { groupSize, bits, scale } = MICROSCALED[mode];
    const codes = this.bytes((rows * cols * bits) / 8);
    // E4M3 has no infinities, but two NaNs.
    if (mode === 'mxfp8') for (const [i, code] of codes.entries()) codes[i] = code & 0xbf;
    const scales = Buffer.from(
      Array.from(
        { length: (rows * cols) / groupSize },
        () => scale + Math.floor(this.random() * 6),
      ),
    );
    return {
      kind: 'microscaled',
      mode,
      groupSize,
      packed: this.append(codes, `${name}.codes`, 'U32', [rows, (cols * bits) / 32]),
      scales: this.append(scales, `${name}.scales`, 'U8', [rows, cols / groupSize]),
    };
  }

  /** Puts another weight under a name, to see what a backend says to it. */
  replace(name: string, change: (weight: Weight) => Weight): void {
    this.weights.set(name, change(this.weight(name)));
  }

  /** Writes the file; `bytes` may be fewer than the weights have. */
  save(bytes = this.length): void {
    writeFileSync(this.file, Buffer.concat(this.chunks).subarray(0, bytes));
  }

  has(name: string): boolean {
    return this.weights.has(name);
  }

  weight(name: string): Weight {
    const weight = this.weights.get(name);
    if (weight === undefined) throw new Error(`no weight ${name}`);
    return weight;
  }

  read(tensor: StoredTensor): Uint8Array {
    const bytes = new Uint8Array(tensor.byteLength);
    const descriptor = openSync(this.file, 'r');
    readSync(descriptor, bytes, 0, bytes.length, tensor.offset);
    closeSync(descriptor);
    return bytes;
  }

  assertAllUsed(): void {}

  close(): void {
    rmSync(this.file, { force: true });
  }

  private bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => Math.floor(this.random() * 256)));
  }

  private signed(): number {
    return 2 * this.random() - 1;
  }

  private floats(
    name: string,
    shape: readonly number[],
    dtype: FloatType,
    values: readonly number[],
  ): StoredTensor {
    const bytes = Buffer.alloc(values.length * (dtype === 'F32' ? 4 : 2));
    for (const [i, value] of values.entries()) {
      if (dtype === 'F32') bytes.writeFloatLE(value, 4 * i);
      else bytes.writeUInt16LE(dtype === 'BF16' ? bfloat16(value) : float16(value), 2 * i);
    }
    return this.append(bytes, name, dtype, shape);
  }

  private append(
    bytes: Buffer,
    name = '',
    dtype: DType = 'U8',
    shape: readonly number[] = [],
  ): StoredTensor {
    const offset = this.length;
    this.chunks.push(bytes);
    this.length += bytes.length;
    return { name, dtype, shape, file: this.file, offset, byteLength: bytes.length };
  }
}

/** Upper half of a float32. */
function bfloat16(value: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes.readUInt16LE(2);
}

/** IEEE 754 binary16, cut off; small numbers become subnormal ones. */
function float16(value: number): number {
  const sign = value < 0 ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude)));
  const units = Math.floor(magnitude * 2 ** (10 - exponent)); // of the last place
  return sign | (units < 1024 ? units : ((exponent + 15) << 10) | (units - 1024));
}
