import type { DType } from './weights';

/** Number of NaN and infinite values among the little-endian floats in `bytes`; 0 for integer types. */
export function countNonFinite(dtype: DType, bytes: Uint8Array<ArrayBuffer>): number {
  switch (dtype) {
    // A float is not finite exactly when all exponent bits are set.
    case 'BF16':
      return countExponents(new Uint16Array(bytes.buffer), 0x7f80);
    case 'F16':
      return countExponents(new Uint16Array(bytes.buffer), 0x7c00);
    case 'F32':
      return countExponents(new Uint32Array(bytes.buffer), 0x7f800000);
    default:
      return 0;
  }
}

function countExponents(words: Uint16Array | Uint32Array, mask: number): number {
  let count = 0;
  for (const word of words) if ((word & mask) === mask) count++;
  return count;
}
