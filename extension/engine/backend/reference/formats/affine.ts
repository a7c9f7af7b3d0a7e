/** MLX's affine groups: w = q * scale + bias, one LSB-first bit stream of codes a row. */
export function affine(
  { bits, groupSize }: { readonly bits: number; readonly groupSize: number },
  cols: number,
  { packed, scales, biases }: AffineTensors,
): Float32Array {
  const rowBytes = (cols * bits) / 8;
  const rows = packed.length / rowBytes;
  const out = new Float32Array(rows * cols);
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      const group = r * (cols / groupSize) + Math.floor(c / groupSize);
      const code = codeAt(packed, r * rowBytes, bits, c);
      out[r * cols + c] = code * (scales[group] ?? 0) + (biases[group] ?? 0);
    }
  }
  return out;
}

interface AffineTensors {
  readonly packed: Uint8Array;
  readonly scales: Float32Array;
  readonly biases: Float32Array;
}

/** Code c of the stream that begins at byte `from`; a code of up to 8 bits spans at most two bytes. */
export function codeAt(bytes: Uint8Array, from: number, bits: number, c: number): number {
  const at = from + ((c * bits) >> 3);
  const word = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
  return (word >> ((c * bits) & 7)) & ((1 << bits) - 1);
}
