import { join } from 'node:path';
import { badModel, quote } from './bad_model';
import { CONFIG_FILE, MAX_CONFIG_BYTES } from './config';
import { isJsonObject, readJsonObject } from './json_file';
import { allowedRoot } from './model_file';
import { assertModelFolder } from './model_folder';
import { Quantization, type QuantizedFormat } from './quantization';
import type { SafetensorsFile } from './safetensors';
import { openShards } from './shards';
import { rowsOfWhole, selectRows } from './tensor_part';
import { checkShape, TensorStore } from './tensor_store';
import type { StoredTensor, TensorPart, Weight } from './weights';

type DenseWeight = Extract<Weight, { kind: 'dense' }>;
type QuantizedWeight = Extract<Weight, { kind: 'affine' | 'microscaled' }>;

const DENSE: ReadonlySet<string> = new Set(['F32', 'F16', 'BF16']);
/** Old checkpoints store RoPE's frequencies, which follow from config.json. */
const DERIVED = /\.rotary_emb\.inv_freq$/;
const HEAD = /(?:^|\.)lm_head\./;
/** OpenAI's mxfp4: the elements of 32 columns in 16 bytes, and their scales beside them. */
const BLOCKS = /_blocks$/;
const BLOCK = { columns: 32, bytes: 16 } as const;

/** The weights of a model folder: safetensors, dense or MLX quantized. Nothing but headers is read until `read`. */
export class Checkpoint extends TensorStore {
  private readonly tensors = new Map<string, StoredTensor>();
  private readonly shardOf = new Map<string, SafetensorsFile>();

  constructor(
    folder: string,
    private readonly shards: readonly SafetensorsFile[],
    private readonly quantization: Quantization,
    ignored: (name: string) => boolean,
  ) {
    super(folder, ignored);
    for (const shard of shards) {
      for (const [name, tensor] of shard.tensors) {
        const other = this.shardOf.get(name);
        if (other !== undefined) {
          throw badModel(folder, `tensor ${quote(name)}: in both ${other.path} and ${shard.path}`);
        }
        this.shardOf.set(name, shard);
        this.tensors.set(name, tensor);
      }
    }
  }

  shape(name: string): readonly number[] | null {
    return this.tensors.get(name)?.shape ?? null;
  }

  weight(name: string, rows: number, cols: number, part?: TensorPart): Weight {
    const tensor = this.take(name, this.tensors);
    const path = name.replace(/\.weight$/, '');
    if (BLOCKS.test(name)) return this.blocks(tensor, [rows, cols], part);
    const isQuantized = path !== name && this.has(`${path}.scales`);
    if (part !== undefined)
      return this.weightPart(tensor, isQuantized ? path : null, rows, cols, part);
    return isQuantized
      ? this.quantized(tensor, path, [rows, cols])
      : this.dense(tensor, rows === 1 && tensor.shape.length === 1 ? [cols] : [rows, cols]);
  }

  close(): void {
    for (const shard of this.shards) shard.close();
  }

  protected names(): Iterable<string> {
    return this.tensors.keys();
  }

  protected bytes(tensor: StoredTensor): Uint8Array<ArrayBuffer> {
    const shard = this.shardOf.get(tensor.name);
    if (shard === undefined) throw badModel(this.place, `tensor ${quote(tensor.name)}: missing`);
    return shard.bytes(tensor);
  }

  /** The weight [rows, cols] that is `part` of a tensor; `quantizedPath` is null for a dense one. */
  private weightPart(
    tensor: StoredTensor,
    quantizedPath: string | null,
    rows: number,
    cols: number,
    part: TensorPart,
  ): Weight {
    const isVector = rows === 1;
    const totalRows = rowsOfWhole(part, isVector ? 1 : cols);
    const pick = (stored: StoredTensor) =>
      selectRows(stored, part, totalRows, isVector ? [cols] : [rows, stored.shape.at(-1) ?? 1]);
    if (quantizedPath === null) {
      const weight = this.dense(tensor, part.shape);
      return { ...weight, tensor: { ...pick(tensor), shape: isVector ? [cols] : [rows, cols] } };
    }
    if (part.transposed === true) {
      throw badModel(tensor.file, `${tensor.name}: stored transposed, expected dense values`);
    }
    const weight = this.quantized(tensor, quantizedPath, part.shape);
    const [packed, scales] = [pick(weight.packed), pick(weight.scales)];
    return weight.kind === 'affine'
      ? { ...weight, packed, scales, biases: pick(weight.biases) }
      : { ...weight, packed, scales };
  }

  private dense(tensor: StoredTensor, shape: readonly number[]): DenseWeight {
    if (!DENSE.has(tensor.dtype)) {
      throw badModel(tensor.file, `${tensor.name}: got ${tensor.dtype}, expected F32, F16 or BF16`);
    }
    checkShape(tensor, tensor.dtype, shape);
    if (shape.length === 1) this.requireFinite(tensor);
    return { kind: 'dense', tensor };
  }

  /** `shape`: of the unpacked weight, [..., rows, cols]. */
  private quantized(packed: StoredTensor, path: string, shape: readonly number[]): QuantizedWeight {
    const scales = this.take(`${path}.scales`, this.tensors);
    const format = this.formatOf(path, scales);
    const { bits, groupSize } = format;
    const rows = shape.slice(0, -1);
    const cols = shape.at(-1) ?? 0;
    if (packed.dtype !== 'U32') {
      throw badModel(packed.file, `${packed.name}: got ${packed.dtype}, expected U32 (packed)`);
    }
    if (cols % groupSize !== 0) {
      throw badModel(
        packed.file,
        `${packed.name}: group_size ${groupSize} does not divide ${cols} columns`,
      );
    }
    checkShape(packed, packed.dtype, [...rows, (cols * bits) / 32]);
    const groups = [...rows, cols / groupSize];
    checkShape(scales, scales.dtype, groups);
    if (format.mode !== 'affine') {
      if (scales.dtype === 'U8')
        return { kind: 'microscaled', mode: format.mode, groupSize, packed, scales };
      throw badModel(scales.file, `${scales.name}: got ${scales.dtype}, expected U8`);
    }
    const biases = this.take(`${path}.biases`, this.tensors);
    checkShape(biases, biases.dtype, groups);
    for (const tensor of [scales, biases]) {
      if (!DENSE.has(tensor.dtype) || tensor.dtype !== scales.dtype) {
        throw badModel(
          tensor.file,
          `${tensor.name}: got ${tensor.dtype}, expected ${scales.dtype}, a float type`,
        );
      }
      this.requireFinite(tensor);
    }
    return { kind: 'affine', bits, groupSize, packed, scales, biases };
  }

  /** The same bytes as MLX's mxfp4. `shape`: of the weight, which `part` may be a part of. */
  private blocks(
    tensor: StoredTensor,
    [rows, cols]: readonly [number, number],
    part?: TensorPart,
  ): QuantizedWeight {
    const scales = this.take(tensor.name.replace(BLOCKS, '_scales'), this.tensors);
    const whole = part?.shape ?? [rows, cols];
    const groups = [...whole.slice(0, -1), cols / BLOCK.columns];
    checkShape(tensor, tensor.dtype, [...groups, BLOCK.bytes]);
    checkShape(scales, scales.dtype, groups);
    for (const { file, name, dtype } of [tensor, scales]) {
      if (dtype !== 'U8') throw badModel(file, `${name}: got ${dtype}, expected U8`);
    }
    const words = [...whole.slice(0, -1), cols / 8];
    const packed: StoredTensor = { ...tensor, dtype: 'U32', shape: words };
    const pick = (stored: StoredTensor) =>
      part === undefined
        ? stored
        : selectRows(stored, part, rowsOfWhole(part, cols), [rows, stored.shape.at(-1) ?? 1]);
    return {
      kind: 'microscaled',
      mode: 'mxfp4',
      groupSize: BLOCK.columns,
      packed: pick(packed),
      scales: pick(scales),
    };
  }

  private formatOf(path: string, scales: StoredTensor): QuantizedFormat {
    const format = this.quantization.formatOf(path);
    if (format !== null) return format;
    throw badModel(
      scales.file,
      `${scales.name}: not expected: ${CONFIG_FILE} says that ${path} is not quantized`,
    );
  }
}

/**
 * Opens the weights of a model folder. Throws EngineError bad_model that names file, tensor, what was found and what
 * was expected, or unsupported for another quantization. The caller closes the checkpoint.
 */
export function openCheckpoint(folder: string): Checkpoint {
  assertModelFolder(folder);
  const root = allowedRoot(folder);
  const configFile = join(folder, CONFIG_FILE);
  const config = readJsonObject(configFile, root, MAX_CONFIG_BYTES);
  const quantization = Quantization.parse(configFile, config);
  // A tied model (some families are when the key is missing) has no head of its own; some exports
  // store a copy of the embedding, which is not used.
  const text = isJsonObject(config.text_config) ? config.text_config : config;
  const isTied = (text.tie_word_embeddings ?? config.tie_word_embeddings) !== false;
  const ignored = (name: string) => DERIVED.test(name) || (isTied && HEAD.test(name));
  const shards = openShards(folder, root);
  try {
    return new Checkpoint(folder, shards, quantization, ignored);
  } catch (error) {
    for (const shard of shards) shard.close();
    throw error;
  }
}
