import { badModel, quote, unsupportedModel } from '../bad_model';
import { rowsOfWhole, selectRows } from '../tensor_part';
import { checkShape, TensorStore } from '../tensor_store';
import {
  BLOCK_TYPES,
  type BlockType,
  type StoredTensor,
  type TensorPart,
  type Weight,
} from '../weights';
import type { GgufFile } from './gguf_file';
import { huggingFaceName, isNegatedExponential, type LayerNames } from './names';
import type { GgufTensor } from './tensor_infos';

const FLOATS = ['F32', 'F16', 'BF16'] as const;
const SUPPORTED: readonly string[] = [...FLOATS, ...BLOCK_TYPES];
/** What the rotary embedding was made with; the config has read it, or it follows from it. */
const ROPE = /^rope_(freqs|factors_long|factors_short)\.|\.attn_rot_embd\./;

/** What Ollama keeps in the same file: towers for images and sound, a head that guesses ahead. */
export const TOWERS = /^(?:v|mm|a|s|mtp)\./;

/** In either naming. */
const LAYER = /^(?:blk|model\.layers)\.(\d+)\./;

/** The weights of a GGUF model under their Hugging Face names. Nothing but headers is read until `read`. */
export class GgufStore extends TensorStore {
  private readonly tensors = new Map<string, GgufTensor>();
  private readonly fileOf: ReadonlyMap<string, GgufFile>;

  constructor(
    private readonly parts: readonly GgufFile[],
    names: LayerNames,
    unusedLayers: readonly number[],
  ) {
    super(
      parts[0]?.path ?? '',
      (name) =>
        ROPE.test(name) ||
        TOWERS.test(name) ||
        unusedLayers.includes(Number(LAYER.exec(name)?.[1])),
    );
    this.fileOf = new Map(parts.map((part) => [part.path, part]));
    for (const part of parts) {
      for (const tensor of part.tensors.values()) {
        const name = huggingFaceName(tensor.name, names);
        const other = this.tensors.get(name);
        if (other !== undefined) {
          throw badModel(
            part.path,
            `tensors ${other.name} and ${tensor.name} are both ${quote(name)}`,
          );
        }
        this.tensors.set(name, tensor);
      }
    }
  }

  shape(name: string): readonly number[] | null {
    return this.tensors.get(name)?.shape ?? null;
  }

  weight(name: string, rows: number, cols: number, part?: TensorPart): Weight {
    const tensor = this.take(name, this.tensors);
    const isVector = rows === 1 && (part !== undefined || tensor.shape.length === 1);
    if (isVector && isNegatedExponential(tensor.name)) return this.logNegated(tensor, cols);
    const shape = isVector ? [cols] : [rows, cols];
    checkShape(tensor, tensor.type.name, part?.shape ?? shape);
    const width = isVector ? 1 : cols;
    const place = (stored: StoredTensor, storedShape: readonly number[]) =>
      part === undefined
        ? { ...stored, shape: storedShape }
        : selectRows(stored, part, rowsOfWhole(part, width), storedShape);
    const type = tensor.type.name;
    const float = FLOATS.find((candidate) => candidate === type);
    if (float !== undefined) {
      const weight = { ...place(stored(tensor, float), shape), shape };
      if (isVector) this.requireFinite(weight);
      return { kind: 'dense', tensor: weight };
    }
    const block = blockType(tensor);
    if (isVector) {
      throw unsupportedModel(tensor.file, `${tensor.name}: got ${type}, expected F32, F16 or BF16`);
    }
    const { blockSize, blockBytes } = tensor.type;
    if (part?.transposed === true) {
      return { kind: 'gguf', type: block, tensor: stored(tensor, 'U8'), transposed: part };
    }
    const rowBytes = (cols / blockSize) * blockBytes;
    return { kind: 'gguf', type: block, tensor: place(stored(tensor, 'U8'), [rows, rowBytes]) };
  }

  close(): void {
    for (const part of this.parts) part.close();
  }

  private logNegated(tensor: GgufTensor, cols: number): Weight {
    checkShape(tensor, tensor.type.name, [cols]);
    if (tensor.type.name !== 'F32') {
      throw badModel(tensor.file, `${tensor.name}: got ${tensor.type.name}, expected F32`);
    }
    const whole = stored(tensor, 'F32');
    const part = { shape: [cols], start: 0, length: cols, stride: cols, count: 1 };
    return { kind: 'dense', tensor: { ...whole, gather: { whole, part, values: 'log_negated' } } };
  }

  protected names(): Iterable<string> {
    return this.tensors.keys();
  }

  protected bytes(tensor: StoredTensor): Uint8Array<ArrayBuffer> {
    const file = this.fileOf.get(tensor.file);
    if (file === undefined) throw badModel(this.place, `tensor ${quote(tensor.name)}: missing`);
    return file.read(tensor.offset, tensor.byteLength);
  }
}

/** Whether weights of a type are decoded. */
export function isDecoded(type: string): boolean {
  return SUPPORTED.includes(type);
}

function stored(tensor: GgufTensor, dtype: StoredTensor['dtype']): StoredTensor {
  const { name, shape, file, offset, byteLength } = tensor;
  return { name, dtype, shape, file, offset, byteLength };
}

function blockType({ type, name, file }: GgufTensor): BlockType {
  const found = BLOCK_TYPES.find((candidate) => candidate === type.name);
  if (found !== undefined) return found;
  throw unsupportedModel(
    file,
    `${name}: type ${type.name} is not supported; supported: ${SUPPORTED.join(', ')}`,
  );
}
