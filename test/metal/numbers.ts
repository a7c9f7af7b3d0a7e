import assert from 'node:assert/strict';
import type { DType } from './runner';

/** Deterministic numbers for tests: mulberry32. */
export class Random {
  constructor(private state: number) {}

  /** [0, 1) */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** 0 … below - 1 */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** Numbers in [-scale, scale). */
  floats(count: number, scale = 1): Float32Array {
    return Float32Array.from({ length: count }, () => (2 * this.next() - 1) * scale);
  }
}

const scratch = new DataView(new ArrayBuffer(4));

/** Bits of the nearest binary16, ties to even; finite numbers in range only. */
export function halfBits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const x = Math.abs(value);
  if (x === 0) return sign;
  const exponent = Math.max(Math.floor(Math.log2(x)), -14);
  const units = roundToEven(x / 2 ** (exponent - 10));
  // A subnormal has no hidden bit; a carry into the next exponent comes out right by addition.
  return sign | ((exponent + 14) * 1024 + units);
}

export function halfValue(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const x = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -x : x;
}

function roundToEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

function bfloatBits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function bfloatValue(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}

/** Numbers as stored, and the values that they stand for after rounding. */
export interface Stored {
  readonly bytes: Float32Array | Uint16Array;
  readonly values: Float32Array;
}

export function store(type: DType, values: Float32Array): Stored {
  if (type === 'f32') return { bytes: values, values };
  const [encode, decode] = type === 'f16' ? [halfBits, halfValue] : [bfloatBits, bfloatValue];
  const bytes = Uint16Array.from(values, encode);
  return { bytes, values: Float32Array.from(bytes, decode) };
}

export function load(type: DType, bytes: Buffer): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (type === 'f32') return new Float32Array(buffer, byteOffset, byteLength / 4);
  return Float32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), halfValue);
}

export function byteSize(type: DType, count: number): number {
  return count * (type === 'f32' ? 4 : 2);
}

/** Largest difference, relative to the largest expected magnitude. */
export const TOLERANCE: Readonly<Record<'f32' | 'f16', number>> = { f32: 1e-5, f16: 2e-2 };

/** Asserts that results agree with float64 values, relative to the largest of these (at least 1e-3). */
export function assertClose(
  actual: Float32Array,
  expected: ArrayLike<number>,
  tolerance: number,
  what: string,
): void {
  assert.equal(actual.length, expected.length, what);
  let scale = 1e-3;
  for (let i = 0; i < expected.length; i++)
    scale = Math.max(scale, Math.abs(expected[i] as number));
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs((actual[i] as number) - (expected[i] as number));
    if (!(difference <= tolerance * scale)) {
      assert.fail(
        `${what}: element ${i} is ${actual[i]}, expected ${expected[i]} within ${tolerance * scale}`,
      );
    }
  }
}
