import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Program } from '../../core/program';
import { EngineError } from '../../errors';
import { badModel } from '../../loading/bad_model';
import { blockLayout } from '../../loading/gguf/types';
import { gatherBytes } from '../../loading/tensor_part';
import {
  type BlockType,
  type StoredTensor,
  type TensorPart,
  tensorsOf,
  type Weight,
  type WeightStore,
} from '../../loading/weights';
import { BLOCK_DECODERS } from './formats';
import { affine } from './formats/affine';
import { float16ToNumber } from './formats/floats';
import { microscaled } from './formats/microscaled';

/** Every weight of the program as float32 [rows * cols], and the bytes each one has in the checkpoint. */
export async function loadWeights(
  program: Program,
  store: WeightStore,
): Promise<{ tensors: Float32Array[]; byteLengths: number[] }> {
  const tensors: Float32Array[] = [];
  const byteLengths: number[] = [];
  for (const { name, rows, cols, part } of program.weights) {
    const weight = store.weight(name, rows, cols, part);
    tensors.push(dequantize(weight, cols, store));
    byteLengths.push(storedBytes(weight));
    await nextTurn(); // a large model takes seconds here; the event loop stays alive
  }
  return { tensors, byteLengths };
}

function storedBytes(weight: Weight): number {
  return tensorsOf(weight).reduce((sum, tensor) => sum + tensor.byteLength, 0);
}

/** float32 [rows * cols] of a weight in any coding. */
export function dequantize(weight: Weight, cols: number, store: WeightStore): Float32Array {
  switch (weight.kind) {
    case 'dense':
      return toFloat32(weight.tensor, store.read(weight.tensor));
    case 'affine':
      return affine(weight, cols, {
        packed: store.read(weight.packed),
        scales: toFloat32(weight.scales, store.read(weight.scales)),
        biases: toFloat32(weight.biases, store.read(weight.biases)),
      });
    case 'microscaled': {
      const [packed, scales] = [store.read(weight.packed), store.read(weight.scales)];
      const values = microscaled(weight.mode, weight.groupSize, cols, packed, scales);
      return checkFinite(weight.scales, values);
    }
    case 'gguf': {
      const { type, tensor, transposed } = weight;
      const values = checkFinite(tensor, decodeBlocks(type, store.read(tensor)));
      return transposed === undefined ? values : transpose(values, tensor, transposed);
    }
  }
}

function transpose(values: Float32Array, whole: StoredTensor, part: TensorPart): Float32Array {
  const byteLength = 4 * part.count * part.length * (part.shape.at(-2) ?? 1);
  const tensor = { ...whole, byteLength, gather: { whole, part } };
  return new Float32Array(gatherBytes(tensor, new Uint8Array(values.buffer)).buffer);
}

function decodeBlocks(type: BlockType, bytes: Uint8Array): Float32Array {
  const { blockSize, blockBytes } = blockLayout(type);
  const decode = BLOCK_DECODERS[type];
  const count = bytes.length / blockBytes;
  const out = new Float32Array(count * blockSize);
  for (let i = 0; i < count; i++) decode(bytes, i * blockBytes, out, i * blockSize);
  return out;
}

/** A scale that is no number poisons its group. */
function checkFinite(tensor: StoredTensor, values: Float32Array): Float32Array {
  const bad = values.reduce((count, value) => count + (Number.isFinite(value) ? 0 : 1), 0);
  if (bad === 0) return values;
  throw badModel(tensor.file, `${tensor.name}: ${bad} of ${values.length} values not finite`);
}

function toFloat32(tensor: StoredTensor, bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  switch (tensor.dtype) {
    case 'F32':
      return new Float32Array(buffer, byteOffset, byteLength / 4);
    case 'BF16':
      return widenBfloat16(new Uint16Array(buffer, byteOffset, byteLength / 2));
    case 'F16':
      return Float32Array.from(
        new Uint16Array(buffer, byteOffset, byteLength / 2),
        float16ToNumber,
      );
    default:
      throw new EngineError(
        'unsupported',
        `${tensor.name}: dtype ${tensor.dtype}, expected F32, F16 or BF16`,
      );
  }
}

/** bfloat16 is the upper half of a float32. */
function widenBfloat16(values: Uint16Array): Float32Array {
  const bits = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) bits[i] = (values[i] ?? 0) << 16;
  return new Float32Array(bits.buffer);
}
