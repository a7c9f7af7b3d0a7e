import type { Program } from '../core/program';
import type { StoredTensor, TensorPart, Weight, WeightStore } from '../loading/weights';
import { dequantize } from './reference/weights';

/** The weight store has resolved the parts; the addon gets the tensors that they are. */
export function withoutParts(program: Program): Program {
  const weights = program.weights.map(({ name, kind, rows, cols }) => ({ name, kind, rows, cols }));
  return { ...program, weights };
}

/** What the addon gets of a program's weights. Packed: the matrices are in a file that it has written. */
export function sourcesOf(
  { weights: specs }: Program,
  weights: readonly Weight[],
  store: WeightStore,
  isPacked: boolean,
): Weight[] {
  return weights.map((weight, i) =>
    withBytes(weight, store, isPacked && specs[i]?.kind === 'matrix'),
  );
}

/** What the addon gets of a tensor. Absent: it says not_packed when it needs the bytes after all. */
type Carried = StoredTensor & ({ readonly bytes: Uint8Array } | { readonly isAbsent: true });

/**
 * Parts that do not lie in one piece travel as bytes, or are left out where the addon will find them packed; everything else is
 * read by the addon itself.
 */
export function withBytes(weight: Weight, store: WeightStore, isPacked = false): Weight {
  const carry = (tensor: StoredTensor): StoredTensor | Carried => {
    if (tensor.gather === undefined) return tensor;
    return isPacked ? { ...tensor, isAbsent: true } : { ...tensor, bytes: store.read(tensor) };
  };
  switch (weight.kind) {
    case 'dense':
      return { ...weight, tensor: carry(weight.tensor) };
    case 'affine':
      return {
        ...weight,
        packed: carry(weight.packed),
        scales: carry(weight.scales),
        biases: carry(weight.biases),
      };
    case 'microscaled':
      return { ...weight, packed: carry(weight.packed), scales: carry(weight.scales) };
    case 'gguf':
      return weight.transposed === undefined
        ? { ...weight, tensor: carry(weight.tensor) }
        : decodedTransposed(weight, weight.transposed, store, isPacked);
  }
}

/** Blocks lie along what become columns, so the values travel as floats. */
function decodedTransposed(
  weight: Weight & { kind: 'gguf' },
  { shape, count, length }: TensorPart,
  store: WeightStore,
  isPacked: boolean,
): Weight {
  const cols = shape.at(-2) ?? 1;
  const size = [count * length, cols] as const;
  const byteLength = 4 * size[0] * size[1];
  const decoded = { ...weight.tensor, dtype: 'F32' as const, shape: size, byteLength };
  const carried: Carried = isPacked
    ? { ...decoded, isAbsent: true }
    : { ...decoded, bytes: new Uint8Array(dequantize(weight, cols, store).buffer) };
  return { kind: 'dense', tensor: carried };
}
