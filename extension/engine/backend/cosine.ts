/** The lowest cosine of two rows of logits, float32 [rows, vocabSize] each; NaN when a value is none. */
export function lowestCosine(a: Float32Array, b: Float32Array, vocabSize: number): number {
  const rows = Array.from({ length: a.length / vocabSize }, (_, row) => row * vocabSize);
  return Math.min(
    ...rows.map((at) => cosineOf(a.subarray(at, at + vocabSize), b.subarray(at, at + vocabSize))),
  );
}

/** 1 for vectors of one direction. */
export function cosineOf(a: Float32Array, b: Float32Array): number {
  let ab = 0;
  let aa = 0;
  let bb = 0;
  // By index: these are millions of logits, and an iterator would make an object of each.
  for (let i = 0; i < b.length; i++) {
    const x = a[i] ?? NaN;
    const y = b[i] as number;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb);
}
