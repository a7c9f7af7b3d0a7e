/** Small float codes, each widened exactly. */

/** IEEE 754 binary16: 1 sign, 5 exponent (bias 15) and 10 fraction bits. */
export function float16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The value of each E2M1 code: 1 sign, 2 exponent (bias 1) and 1 fraction bit. OCP Microscaling Formats 1.0, table 5. */
export const E2M1: readonly number[] = [
  0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6,
];

/** E4M3: 1 sign, 4 exponent (bias 7) and 3 fraction bits; no infinities, NaN where all other bits are set. */
export function e4m3ToNumber(bits: number): number {
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> 3) & 15;
  const fraction = bits & 7;
  if (exponent === 0) return sign * fraction * 2 ** -9;
  if (exponent === 15 && fraction === 7) return NaN;
  return sign * (1 + fraction / 8) * 2 ** (exponent - 7);
}

/** E8M0: a power of two, bias 127; 255 is NaN. */
export function e8m0ToNumber(bits: number): number {
  return bits === 255 ? NaN : 2 ** (bits - 127);
}
