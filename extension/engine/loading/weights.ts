/** What a backend needs to know of a checkpoint: tensors by name, where their bytes lie, and how they are coded. */

export type DType =
  | 'F64'
  | 'F32'
  | 'F16'
  | 'BF16'
  | 'I64'
  | 'I32'
  | 'I16'
  | 'I8'
  | 'U64'
  | 'U32'
  | 'U16'
  | 'U8'
  | 'BOOL';

/**
 * The part of a checkpoint tensor that is one weight, for files that keep several weights in one tensor: fused QKV and
 * gate/up projections, stacked experts. The whole tensor, of logical (unpacked) `shape`, is seen as a list of rows, each
 * as wide as the weight; a vector's rows are single elements. The weight is `count` runs of `length` rows, the first at
 * row `start`, one every `stride` rows.
 */
export interface TensorPart {
  readonly shape: readonly number[];
  readonly start: number;
  readonly length: number;
  readonly stride: number;
  readonly count: number;
  /** The file has the last two axes swapped: `shape` ends in [cols, rows]. Not for MLX's quantized tensors. */
  readonly transposed?: boolean;
}

/** What a model family may know of a checkpoint before it builds its program. */
export interface TensorIndex {
  has(name: string): boolean;
  /** Shape as stored; null when there is no such tensor. */
  shape(name: string): readonly number[] | null;
  /** Names of tensors that the model does not use and that are no error, such as a vision tower. */
  ignore(names: RegExp): void;
}

/** A run of bytes in a file; nothing is read until a backend asks. */
export interface StoredTensor {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Absolute path. */
  readonly file: string;
  /** Byte offset in the file; not necessarily aligned. */
  readonly offset: number;
  readonly byteLength: number;
  /**
   * Set when the bytes do not lie in one piece at `offset`: the tensor is a part of `whole`. A backend that maps files
   * must take such a tensor through `WeightStore.read`.
   */
  readonly gather?: TensorGather;
}

/** A part of a larger tensor whose rows are not neighbours, or are stored as columns. */
export interface TensorGather {
  readonly whole: StoredTensor;
  readonly part: TensorPart;
  /** 'log_negated': the file has -exp of the values, in float32. */
  readonly values?: 'log_negated';
}

/** Block formats of GGUF that backends decode; loading/gguf/types.ts has their sizes. */
export const BLOCK_TYPES = [
  'Q4_0',
  'Q4_1',
  'Q5_0',
  'Q5_1',
  'Q8_0',
  'Q2_K',
  'Q3_K',
  'Q4_K',
  'Q5_K',
  'Q6_K',
  'IQ4_NL',
  'IQ4_XS',
  'MXFP4',
] as const;
export type BlockType = (typeof BLOCK_TYPES)[number];

/** MLX's float modes: elements and scales of mxfp4 are E2M1 and E8M0, of mxfp8 E4M3 and E8M0, of nvfp4 E2M1 and E4M3. */
export type MicroscaledMode = 'mxfp4' | 'mxfp8' | 'nvfp4';

/**
 * A weight [rows, cols] and its coding.
 * dense: one tensor of F32, F16 or BF16.
 * affine (MLX): packed U32 [rows, cols * bits / 32], one LSB-first bit stream a row; scales and biases
 * [rows, cols / groupSize]; w = q * scale + bias.
 * microscaled (MLX): packed U32 as in affine, with 4 or 8 bits; scales U8 [rows, cols / groupSize]; w = element * scale.
 * gguf: the blocks of all rows as U8 [rows, bytes of a row]; with `transposed`, of the tensor that has the weight as this part.
 */
export type Weight =
  | { readonly kind: 'dense'; readonly tensor: StoredTensor }
  | {
      readonly kind: 'affine';
      readonly bits: number;
      readonly groupSize: number;
      readonly packed: StoredTensor;
      readonly scales: StoredTensor;
      readonly biases: StoredTensor;
    }
  | {
      readonly kind: 'microscaled';
      readonly mode: MicroscaledMode;
      readonly groupSize: number;
      readonly packed: StoredTensor;
      readonly scales: StoredTensor;
    }
  | {
      readonly kind: 'gguf';
      readonly type: BlockType;
      readonly tensor: StoredTensor;
      readonly transposed?: TensorPart;
    };

/** The tensors that a weight consists of. */
export function tensorsOf(weight: Weight): readonly StoredTensor[] {
  switch (weight.kind) {
    case 'dense':
    case 'gguf':
      return [weight.tensor];
    case 'affine':
      return [weight.packed, weight.scales, weight.biases];
    case 'microscaled':
      return [weight.packed, weight.scales];
  }
}

export interface WeightStore {
  has(name: string): boolean;
  /**
   * The weight called `name` (a module path such as `model.layers.0.self_attn.q_proj.weight`), checked against the
   * expected shape: matrices [rows, cols], vectors [cols] with rows = 1. Throws EngineError bad_model that names the
   * tensor, what was expected and what was found. With a part, `name` is the tensor that holds it.
   */
  weight(name: string, rows: number, cols: number, part?: TensorPart): Weight;
  /** The bytes of a tensor, read with pread into a fresh aligned buffer. Throws when the file changed or ended. */
  read(tensor: StoredTensor): Uint8Array;
  /** Throws when tensors of the checkpoint were never asked for (the strict half of loading). */
  assertAllUsed(): void;
  close(): void;
}
