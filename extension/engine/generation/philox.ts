/**
 * Philox4x32-10, a counter-based random number generator (Salmon et al., SC 2011): the n-th number of a stream is a
 * pure function of (seed, n), so a row of a batch draws the same numbers as it would alone.
 */
export function philox(
  counter: readonly [number, number, number, number],
  seed: number,
): Uint32Array {
  let [c0, c1, c2, c3] = counter;
  let k0 = seed >>> 0;
  let k1 = Math.floor(seed / 2 ** 32) >>> 0;
  for (let round = 0; round < 10; round++) {
    const [hi0, lo0] = multiplyWide(0xd2511f53, c0);
    const [hi1, lo1] = multiplyWide(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [hi1 ^ c1 ^ k0, lo1, hi0 ^ c3 ^ k1, lo0];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return Uint32Array.of(c0, c1, c2, c3);
}

/** The n-th uniform number in [0, 1) of a seed's stream, with 53 random bits. */
export function uniform(seed: number, n: number): number {
  const [a = 0, b = 0] = philox([n >>> 0, Math.floor(n / 2 ** 32) >>> 0, 0, 0], seed);
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53;
}

/** High and low 32 bits of a 32 × 32 bit product. */
function multiplyWide(a: number, b: number): [number, number] {
  const product = BigInt(a >>> 0) * BigInt(b >>> 0);
  return [Number(product >> 32n), Number(product & 0xffffffffn)];
}
