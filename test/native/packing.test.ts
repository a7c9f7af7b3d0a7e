/** What packing makes of GGUF's blocks, byte for byte: here row by row as native/kernels/matrix.h says, there 16 rows at once. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Precision } from '../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { e8m0ToNumber } from '../../extension/engine/backend/reference/formats/floats';
import {
  byte,
  half,
  IQ4_LEVELS,
  signed,
} from '../../extension/engine/backend/reference/formats/gguf_blocks';
import { blockLayout } from '../../extension/engine/loading/gguf/types';
import {
  BLOCK_TYPES,
  type BlockType,
  type MicroscaledMode,
} from '../../extension/engine/loading/weights';
import { Runner, TestProgram } from './harness';
import type { Coding } from './weights';

const LANES = 16;

/**
 * A block as codes in groups: w = code * scale + bias; no bias where codes have a zero of their own. Products are rounded
 * to float32, as everywhere in packing.
 */
interface Groups {
  readonly size: 16 | 32;
  code(i: number): number;
  scale(group: number): number;
  readonly bias: ((group: number) => number) | null;
}
type Scalar = 'F32' | 'F16' | 'BF16';

const times = (a: number, b: number) => Math.fround(a * b);
/** Codes of which `zero` stands for nothing. */
const around = (zero: number, scale: (group: number) => number) => ({
  scale,
  bias: (group: number) => times(-zero, scale(group)),
});
const nibble = (b: Uint8Array, from: number, i: number) =>
  (byte(b, from + (i & 15)) >> (i < 16 ? 0 : 4)) & 15;
const bit = (b: Uint8Array, from: number, i: number) => (byte(b, from + (i >> 3)) >> (i & 7)) & 1;
const twoBits = (b: Uint8Array, from: number, i: number) =>
  (byte(b, from + (i >> 7) * 32 + (i & 31)) >> (((i >> 5) & 3) * 2)) & 3;
const paired = (b: Uint8Array, from: number, i: number) =>
  (byte(b, from + (i >> 6) * 32 + (i & 31)) >> (i & 32 ? 4 : 0)) & 15;

/** Q4_K's and Q5_K's scale, or minimum, of a group. */
function sixBits(b: Uint8Array, group: number, what: 'scale' | 'minimum'): number {
  const own = byte(b, 4 + (group & 3) + (what === 'scale' ? 0 : 4));
  if (group < 4) return own & 63;
  const packed = byte(b, 12 + (group & 3));
  return (what === 'scale' ? packed & 15 : packed >> 4) | ((own >> 6) << 4);
}
const scalesAndMinima = (b: Uint8Array) => ({
  size: 32 as const,
  scale: (g: number) => times(half(b, 0), sixBits(b, g, 'scale')),
  bias: (g: number) => times(-half(b, 2), sixBits(b, g, 'minimum')),
});
const level = (code: number) => (IQ4_LEVELS[code] ?? NaN) + 128;

const FORMATS: Readonly<Record<BlockType, [Scalar, (b: Uint8Array) => Groups]>> = {
  Q4_0: [
    'F16',
    (b) => ({ size: 32, code: (i) => nibble(b, 2, i), ...around(8, () => half(b, 0)) }),
  ],
  Q4_1: [
    'F16',
    (b) => ({
      size: 32,
      code: (i) => nibble(b, 4, i),
      scale: () => half(b, 0),
      bias: () => half(b, 2),
    }),
  ],
  Q5_0: [
    'F16',
    (b) => ({
      size: 32,
      code: (i) => nibble(b, 6, i) + 16 * bit(b, 2, i),
      ...around(16, () => half(b, 0)),
    }),
  ],
  Q5_1: [
    'F16',
    (b) => ({
      size: 32,
      code: (i) => nibble(b, 8, i) + 16 * bit(b, 4, i),
      scale: () => half(b, 0),
      bias: () => half(b, 2),
    }),
  ],
  Q8_0: [
    'F16',
    (b) => ({
      size: 32,
      code: (i) => signed(byte(b, 2 + i)) + 128,
      ...around(128, () => half(b, 0)),
    }),
  ],
  Q2_K: [
    'F32',
    (b) => ({
      size: 16,
      code: (i) => twoBits(b, 16, i),
      scale: (g) => times(half(b, 80), byte(b, g) & 15),
      bias: (g) => times(-half(b, 82), byte(b, g) >> 4),
    }),
  ],
  Q3_K: [
    'F32',
    (b) => ({
      size: 16,
      code: (i) => twoBits(b, 32, i) + 4 * ((byte(b, i & 31) >> (i >> 5)) & 1),
      ...around(4, (g) => {
        const low = (byte(b, 96 + (g & 7)) >> (g < 8 ? 0 : 4)) & 15;
        const high = (byte(b, 104 + (g & 3)) >> ((g >> 2) * 2)) & 3;
        return times(half(b, 108), low + 16 * high - 32);
      }),
    }),
  ],
  Q4_K: ['F32', (b) => ({ code: (i) => paired(b, 16, i), ...scalesAndMinima(b) })],
  Q5_K: [
    'F32',
    (b) => ({
      code: (i) => paired(b, 48, i) + 16 * ((byte(b, 16 + (i & 31)) >> (i >> 5)) & 1),
      ...scalesAndMinima(b),
    }),
  ],
  Q6_K: [
    'F32',
    (b) => ({
      size: 16,
      code: (i) =>
        ((byte(b, (i >> 7) * 64 + (i & 63)) >> (i & 64 ? 4 : 0)) & 15) + 16 * twoBits(b, 128, i),
      scale: (g) => times(half(b, 208), signed(byte(b, 192 + g))),
      bias: null,
    }),
  ],
  IQ4_NL: [
    'F16',
    (b) => ({
      size: 32,
      code: (i) => level(nibble(b, 2, i)),
      ...around(128, () => half(b, 0)),
    }),
  ],
  IQ4_XS: [
    'F32',
    (b) => ({
      size: 32,
      code: (i) => level(nibble(b, 8 + 16 * (i >> 5), i & 31)),
      ...around(128, (g) => {
        const low = (byte(b, 4 + (g >> 1)) >> (4 * (g & 1))) & 15;
        const high = ((byte(b, 2) | (byte(b, 3) << 8)) >> (2 * g)) & 3;
        return times(half(b, 0), low + 16 * high - 32);
      }),
    }),
  ],
  MXFP4: [
    'BF16',
    (b) => ({
      size: 32,
      code: (i) => nibble(b, 1, i),
      scale: () => e8m0ToNumber(byte(b, 0)) / 2, // of steps of a half
      bias: null,
    }),
  ],
};

/** A number as 4 or 2 bytes. */
function writeScalar(value: number, scalar: Scalar, target: Buffer, at: number): void {
  if (scalar === 'F16') {
    target.writeUInt16LE(nearestHalf(value), at);
    return;
  }
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  bytes.copy(target, at, scalar === 'F32' ? 0 : 2);
}

/** The bits of the nearest binary16, ties to even. */
function nearestHalf(value: number): number {
  const magnitude = Math.abs(value);
  const exponent = magnitude === 0 ? -14 : Math.max(-14, Math.floor(Math.log2(magnitude)));
  const places = magnitude * 2 ** (10 - exponent);
  const down = Math.floor(places);
  const isUp = places - down > 0.5 || (places - down === 0.5 && down % 2 === 1);
  const units = isUp ? down + 1 : down;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  return sign | (units < 1024 ? units : ((exponent + 15) << 10) + units - 1024);
}

type Layout = 'nibbles' | 'bytes' | 'six bits';
const layoutOf = (type: BlockType): Layout =>
  type === 'Q6_K' ? 'six bits' : /^(Q[234]|MXFP4)/.test(type) ? 'nibbles' : 'bytes';
/** Bytes of the codes of a column of 16 rows. */
const COLUMN_BYTES = { nibbles: 8, bytes: 16, 'six bits': 12 };

/** Puts the code of column i of a group, whose codes begin at `at`, into its bits. */
function putCode(
  target: Buffer,
  layout: Layout,
  at: number,
  lane: number,
  i: number,
  code: number,
) {
  const put = (place: number, bits: number, shift: number) => {
    const to = at + place + 4 * lane + (i & 3);
    target.writeUInt8(byte(target, to) | (bits << shift), to);
  };
  if (layout === 'bytes') put((i >> 2) * 64, code, 0);
  else if (layout === 'nibbles') put((i >> 3) * 64, code, i & 4);
  else {
    const columns = (i >> 4) * 192;
    put(columns + (i & 8) * 8, code & 15, i & 4);
    put(columns + 128, code >> 4, ((i & 15) >> 2) * 2);
  }
}

/** The whole matrix, row by row. */
function pack(blocks: Uint8Array, rows: number, cols: number, type: BlockType, isExact: boolean) {
  const [exact, decode] = FORMATS[type];
  const { blockSize, blockBytes } = blockLayout(type);
  const { size, bias } = decode(new Uint8Array(blockBytes));
  const scalar = exact === 'F32' && !isExact ? 'F16' : exact;
  const scalarsBytes = LANES * (scalar === 'F32' ? 4 : 2);
  const layout = layoutOf(type);
  const codesBytes = size * COLUMN_BYTES[layout];
  const groupBytes = codesBytes + (bias ? 2 : 1) * scalarsBytes;
  const rowsBytes = (cols / size) * groupBytes;
  const target = Buffer.alloc(Math.ceil(rows / LANES) * rowsBytes);
  for (let row = 0; row < rows; row++) {
    const lane = row % LANES;
    for (let column = 0; column < cols; column += blockSize) {
      const from = ((row * cols + column) / blockSize) * blockBytes;
      const groups = decode(blocks.subarray(from, from + blockBytes));
      const first = Math.floor(row / LANES) * rowsBytes + (column / size) * groupBytes;
      for (let i = 0; i < blockSize; i++) {
        const at = first + Math.floor(i / size) * groupBytes;
        putCode(target, layout, at, lane, i % size, groups.code(i));
      }
      for (let group = 0; group < blockSize / size; group++) {
        const at = first + group * groupBytes + codesBytes + (lane * scalarsBytes) / LANES;
        writeScalar(groups.scale(group), scalar, target, at);
        if (groups.bias) writeScalar(groups.bias(group), scalar, target, at + scalarsBytes);
      }
    }
  }
  return target;
}

/** Bytes behind the weights in a file of them, and the multiple of which matrices are. */
const FOOTER_BYTES = 24;
const ALIGNMENT = 64;

/** The stored and the packed bytes of a matrix [rows, cols]; its file has an embedding in float32 before it. */
async function packed(coding: Coding, precision: Precision, rows: number, cols: number) {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-packing-'));
  const model = new TestProgram();
  const program = model.finish(model.linear(model.embed(rows, cols), rows, coding));
  const options = { precision, packed: { folder, minBytes: 0 } };
  const runner = await Runner.create(loadNativeBackend(), program, model.weights, options);
  runner.executable.dispose();
  const weight = model.weights.weight('matrix1');
  const stored = weight.kind === 'gguf' ? model.weights.read(weight.tensor) : new Uint8Array();
  model.weights.close();
  const files = readdirSync(join(folder, 'packed')).filter((name) => name.endsWith('.weights'));
  assert.equal(files.length, 1);
  const file = readFileSync(join(folder, 'packed', files[0] ?? ''));
  rmSync(folder, { recursive: true });
  const embedding = Math.ceil(rows / LANES) * LANES * cols * 4;
  return { stored, bytes: file.subarray(embedding, file.length - FOOTER_BYTES) };
}

describe('packed blocks of GGUF', () => {
  for (const type of BLOCK_TYPES) {
    for (const precision of ['exact', 'fast'] as const) {
      test(`${type}, ${precision}`, async () => {
        const [rows, cols] = [41, 512]; // the last block has 9 rows
        const { stored, bytes } = await packed({ blocks: type }, precision, rows, cols);
        const expected = pack(stored, rows, cols, type, precision === 'exact');
        assert.deepEqual(bytes.subarray(0, expected.length), expected);
        assert.ok(bytes.length - expected.length < ALIGNMENT);
      });
    }
  }
});

describe('packed bits a weight', () => {
  const bits = { mxfp4: 4.5, nvfp4: 5, mxfp8: 16 };
  for (const [mode, expected] of Object.entries(bits)) {
    test(mode, async () => {
      const { bytes } = await packed({ mode: mode as MicroscaledMode }, 'fast', 32, 512);
      assert.equal((bytes.length * 8) / (32 * 512), expected);
    });
  }
});
