/** GGUF's "K" formats: super-blocks of 256 values in groups whose scales are themselves quantized. */
import { type BlockDecoder, byte, half, IQ4_LEVELS, signed } from './gguf_blocks';

/**
 * 16 bytes of scale (low nibble) and minimum (high nibble), one for 16 values; 64 bytes of 2-bit codes; half d and dmin.
 * Codes: for each half of 128 values, bits 0-1 of 32 bytes are values 0 to 31, bits 2-3 values 32 to 63, and so on.
 */
export const q2_k: BlockDecoder = (bytes, from, out, at) => {
  const [d, dmin] = [half(bytes, from + 80), half(bytes, from + 82)];
  for (let i = 0; i < 256; i++) {
    const scale = byte(bytes, from + (i >> 4));
    const code = (byte(bytes, from + 16 + codeByte(i)) >> codeShift(i)) & 3;
    out[at + i] = d * (scale & 15) * code - dmin * (scale >> 4);
  }
};

/**
 * 32 bytes of third bits, 64 bytes of 2-bit codes as in Q2_K, 12 bytes of 16 six-bit scales, half d:
 * d * (scale - 32) * (code + 4 * third - 4).
 */
export const q3_k: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from + 108);
  for (let i = 0; i < 256; i++) {
    const third = (byte(bytes, from + (i & 31)) >> (i >> 5)) & 1;
    const low = (byte(bytes, from + 32 + codeByte(i)) >> codeShift(i)) & 3;
    const scale = sixBitScale(bytes, from + 96, i >> 4) - 32;
    out[at + i] = d * scale * (low + 4 * third - 4);
  }
};

/** Half d and dmin; 12 bytes of 8 six-bit scales and minima; 128 bytes of nibbles: d * scale * q - dmin * min. */
export const q4_k: BlockDecoder = (bytes, from, out, at) => {
  const [d, dmin] = [half(bytes, from), half(bytes, from + 2)];
  for (let i = 0; i < 256; i++) {
    const { scale, min } = scaleAndMin(bytes, from + 4, i >> 5);
    out[at + i] = d * scale * pairedNibble(bytes, from + 16, i) - dmin * min;
  }
};

/** As Q4_K, with 32 bytes of fifth bits before the nibbles: bit g of byte l belongs to value 32 * g + l. */
export const q5_k: BlockDecoder = (bytes, from, out, at) => {
  const [d, dmin] = [half(bytes, from), half(bytes, from + 2)];
  for (let i = 0; i < 256; i++) {
    const { scale, min } = scaleAndMin(bytes, from + 4, i >> 5);
    const fifth = (byte(bytes, from + 16 + (i & 31)) >> (i >> 5)) & 1;
    out[at + i] = d * scale * (pairedNibble(bytes, from + 48, i) + 16 * fifth) - dmin * min;
  }
};

/**
 * 128 bytes of low nibbles, 64 bytes of two high bits, 16 int8 scales for 16 values each, half d: d * scale * (q - 32).
 * For each half of 128 values: 64 bytes whose low nibbles are values 0 to 63 and high ones 64 to 127; 32 bytes of high bits
 * in steps of 32 values.
 */
export const q6_k: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from + 208);
  for (let i = 0; i < 256; i++) {
    const j = i & 127;
    const low = (byte(bytes, from + (i >> 7) * 64 + (j & 63)) >> (j < 64 ? 0 : 4)) & 15;
    const high = (byte(bytes, from + 128 + (i >> 7) * 32 + (j & 31)) >> codeShift(i)) & 3;
    const scale = signed(byte(bytes, from + 192 + (i >> 4)));
    out[at + i] = d * scale * (low + 16 * high - 32);
  }
};

/** Half d; 8 six-bit scales, the low nibbles in 4 bytes after 2 bytes of high bits; then 8 groups as in IQ4_NL. */
export const iq4_xs: BlockDecoder = (bytes, from, out, at) => {
  const d = half(bytes, from);
  const high = byte(bytes, from + 2) | (byte(bytes, from + 3) << 8);
  for (let i = 0; i < 256; i++) {
    const group = i >> 5;
    const low = (byte(bytes, from + 4 + (group >> 1)) >> (4 * (group & 1))) & 15;
    const scale = (low | (((high >> (2 * group)) & 3) << 4)) - 32;
    const code = (byte(bytes, from + 8 + group * 16 + (i & 15)) >> (i & 16 ? 4 : 0)) & 15;
    out[at + i] = d * scale * (IQ4_LEVELS[code] ?? NaN);
  }
};

/** Byte of a 2-bit code of Q2_K and Q3_K, and its place in the byte. */
const codeByte = (i: number): number => (i >> 7) * 32 + (i & 31);
const codeShift = (i: number): number => ((i >> 5) & 3) * 2;

/** Nibbles in pairs of groups: 32 bytes hold group 2g in their low and group 2g + 1 in their high nibbles. */
function pairedNibble(bytes: Uint8Array, from: number, i: number): number {
  return (byte(bytes, from + (i >> 6) * 32 + (i & 31)) >> (i & 32 ? 4 : 0)) & 15;
}

/** Scale k of Q3_K: low nibbles in bytes 0 to 7 (low, then high halves), two high bits in bytes 8 to 11. */
function sixBitScale(bytes: Uint8Array, from: number, k: number): number {
  const low = (byte(bytes, from + (k & 7)) >> (k < 8 ? 0 : 4)) & 15;
  const high = (byte(bytes, from + 8 + (k & 3)) >> (2 * (k >> 2))) & 3;
  return low | (high << 4);
}

/** Group g of Q4_K and Q5_K: six bits each; those of groups 4 to 7 have their high bits in the bytes of groups 0 to 3. */
function scaleAndMin(
  bytes: Uint8Array,
  from: number,
  g: number,
): { readonly scale: number; readonly min: number } {
  const [first, second] = [byte(bytes, from + (g & 3)), byte(bytes, from + 4 + (g & 3))];
  if (g < 4) return { scale: first & 63, min: second & 63 };
  const packed = byte(bytes, from + 8 + (g & 3));
  return { scale: (packed & 15) | ((first >> 6) << 4), min: (packed >> 4) | ((second >> 6) << 4) };
}
