import { E2M1, e8m0ToNumber, float16ToNumber } from './floats';

/** Decodes one block, whose bytes begin at `from` of `bytes`, to `out` from `at` on. */
export type BlockDecoder = (bytes: Uint8Array, from: number, out: Float32Array, at: number) => void;

/** The 16 levels of IQ4_NL and IQ4_XS. */
export const IQ4_LEVELS: readonly number[] = [
  -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
];

export const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;

export function half(bytes: Uint8Array, at: number): number {
  return float16ToNumber(byte(bytes, at) | (byte(bytes, at + 1) << 8));
}

export const signed = (value: number): number => (value << 24) >> 24;

/** Codes of 4 bits, 32 to 16 bytes: the low nibbles are values 0 to 15, the high ones 16 to 31. */
function nibble(bytes: Uint8Array, from: number, i: number): number {
  return (byte(bytes, from + (i & 15)) >> (i < 16 ? 0 : 4)) & 15;
}

/** Bit i of 4 bytes. */
function bit(bytes: Uint8Array, from: number, i: number): number {
  return (byte(bytes, from + (i >> 3)) >> (i & 7)) & 1;
}

/** half d, 32 nibbles: d * (q - 8) */
export const q4_0: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from);
  for (let i = 0; i < 32; i++) out[at + i] = d * (nibble(bytes, from + 2, i) - 8);
};

/** half d, half m, 32 nibbles: d * q + m */
export const q4_1: BlockDecoder = (bytes, from, out, at) => {
  const [d, m] = [half(bytes, from), half(bytes, from + 2)];
  for (let i = 0; i < 32; i++) out[at + i] = d * nibble(bytes, from + 4, i) + m;
};

/** half d, 32 fifth bits, 32 nibbles: d * (q - 16) */
export const q5_0: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from);
  for (let i = 0; i < 32; i++) {
    const q = nibble(bytes, from + 6, i) | (bit(bytes, from + 2, i) << 4);
    out[at + i] = d * (q - 16);
  }
};

/** half d, half m, 32 fifth bits, 32 nibbles: d * q + m */
export const q5_1: BlockDecoder = (bytes, from, out, at) => {
  const [d, m] = [half(bytes, from), half(bytes, from + 2)];
  for (let i = 0; i < 32; i++) {
    const q = nibble(bytes, from + 8, i) | (bit(bytes, from + 4, i) << 4);
    out[at + i] = d * q + m;
  }
};

/** half d, 32 int8: d * q */
export const q8_0: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from);
  for (let i = 0; i < 32; i++) out[at + i] = d * signed(byte(bytes, from + 2 + i));
};

/** half d, 32 nibbles that index a table: d * level */
export const iq4_nl: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from);
  for (let i = 0; i < 32; i++) out[at + i] = d * (IQ4_LEVELS[nibble(bytes, from + 2, i)] ?? NaN);
};

/** E8M0 scale, 32 nibbles in E2M1: OCP Microscaling Formats 1.0, section 5. */
export const mxfp4: BlockDecoder = (bytes, from, out, at) => {
  const d = e8m0ToNumber(byte(bytes, from));
  for (let i = 0; i < 32; i++) out[at + i] = d * (E2M1[nibble(bytes, from + 1, i)] ?? NaN);
};
