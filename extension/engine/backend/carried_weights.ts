import type { StoredTensor, TensorPart, Weight, WeightStore } from '../loading/weights';
import { dequantize } from './reference/weights';

/** Parts that do not lie in one piece travel as bytes; everything else is read by the addon itself. */
export function withBytes(weight: Weight, store: WeightStore): Weight {
  const carry = (tensor: StoredTensor) =>
    tensor.gather === undefined ? tensor : { ...tensor, bytes: store.read(tensor) };
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
        : decodedTransposed(weight, weight.transposed, store);
  }
}

/** Blocks lie along what become columns, so the values travel as floats. */
function decodedTransposed(
  weight: Weight & { kind: 'gguf' },
  { shape, count, length }: TensorPart,
  store: WeightStore,
): Weight {
  const cols = shape.at(-2) ?? 1;
  const values = dequantize(weight, cols, store);
  const { tensor } = weight;
  const decoded = { ...tensor, dtype: 'F32' as const, shape: [count * length, cols] };
  const bytes = new Uint8Array(values.buffer);
  const carried = { ...decoded, byteLength: bytes.length, bytes };
  return { kind: 'dense', tensor: carried };
}
