import type { Program } from '../core/program';
import type { WeightStore } from '../loading/weights';

export type BackendName = 'reference' | 'cpu' | 'metal';

/**
 * 'exact': float32 activations and keys/values, weights as stored; equal to the reference up to summation order.
 * 'fast': int8 activations for quantized weights, 16 bits where the model needs them, and float16 keys/values.
 */
export type Precision = 'exact' | 'fast';

/**
 * Bits of an element of keys and values. 16: as the precision says. 8: integers, with a float32 scale for each token, head
 * and KV_GROUP columns; backends without them refuse with bad_request.
 */
export type KvBits = 8 | 16;
export const KV_GROUP = 32;

/** Where weights are kept in the backend's own layout. */
export interface PackedCacheOptions {
  readonly folder: string;
  /** Of all files together; the least recently used are removed. */
  readonly maxBytes?: number;
  readonly minBytes?: number;
}

export interface CompileOptions {
  readonly precision: Precision;
  /** Size of the key/value pool, in blocks of the backend's `kvBlockSize` tokens shared by all layers. */
  readonly kvBlocks: number;
  /** Most tokens in one step. */
  readonly maxTokens: number;
  /** Most rows of logits in one step. */
  readonly maxLogitRows: number;
  /** Slots for recurrent state, for programs with state layers; default 1. */
  readonly stateSlots?: number;
  /** Compute threads; 0 = the backend decides. */
  readonly threads: number;
  /** Where weights are kept in the backend's own layout; default: they are made anew each time. */
  readonly packed?: PackedCacheOptions;
  /** Threads share the keys of one token when there are too few tokens for all; default true. */
  readonly decodeAttentionKernel?: boolean;
  /** Quantized weights become float32 when they are loaded; default false. */
  readonly forceDequantized?: boolean;
  /** Default 16. */
  readonly kvBits?: KvBits;
  /** For precision 'fast'; default: as few as the model bears. */
  readonly activationBits?: ActivationBits;
  /**
   * When that is found out, if no earlier load has: 'later' leaves it open where the weights must be packed first, and
   * activations have 16 bits. Default 'now'.
   */
  readonly calibration?: 'now' | 'later';
  /** Ends finding it out; compiling rejects with code 'cancelled' then. */
  readonly signal?: AbortSignal;
}

/** It is open how far activations may be rounded. */
export interface OpenCalibration {
  /** Finds it out, applies it and keeps it for later loads. Only before the first step of anybody else. */
  run(): Promise<void>;
  /** Whether another executable of this model could find it out without packing the weights. */
  isPacked(): boolean;
}

/**
 * One step over S sequences, T tokens in all. Rows [offsets[s], offsets[s+1]) belong to sequence s and stand at
 * consecutive positions; the keys and values of earlier positions are in its blocks already.
 */
export interface StepBatch {
  /** [T] token ids. */
  readonly tokens: Int32Array;
  /** [T] position of each token in its sequence. */
  readonly positions: Int32Array;
  /** [S + 1] */
  readonly offsets: Int32Array;
  /** [S * blocksPerSequence] block b of sequence s holds positions [b * kvBlockSize, (b + 1) * kvBlockSize). */
  readonly blockTables: Int32Array;
  readonly blocksPerSequence: number;
  /** [R] rows of this step whose logits are returned, ascending. */
  readonly logitRows: Int32Array;
  /**
   * [S] the slot that holds the recurrent state of each sequence; needed by programs with state layers. No two sequences
   * of a step share one. A sequence at position 0 starts its slot anew; any other must go on exactly where the slot's
   * last step ended, else the step fails with bad_request. A step that fails or is cancelled leaves its slots void.
   */
  readonly stateSlots?: Int32Array;
}

/** Bits of the integers to which activations are rounded for quantized weights: 8, or 16 as two products of 8. */
export interface ActivationBits {
  /** For what attention compares and mixes: queries, keys and values, whose errors its weights magnify. */
  readonly attention: 8 | 16;
  readonly others: 8 | 16;
}

/** Keys and values as bytes in the backend's own layout, [blocks][blockBytes]. Only between steps. */
export interface BlockStore {
  /** Of one block, in all layers. */
  readonly blockBytes: number;
  read(blocks: Int32Array): Uint8Array;
  /** Puts what `read` gave into blocks, maybe in another run of the same program. */
  write(blocks: Int32Array, bytes: Uint8Array): void;
}

/** Recurrent states as bytes in the backend's own layout. Only between steps. */
export interface StateStore {
  /** Of one slot, in all layers. */
  readonly stateBytes: number;
  read(slot: number): Uint8Array;
  /** Puts what `read` gave after `length` tokens into a slot, maybe in another run of the same program. */
  write(slot: number, length: number, bytes: Uint8Array): void;
}

/**
 * How the backend draws a token from a row of logits, in this order: what is allowed, temperature, top-k, top-p, min-p; as
 * `sample` of generation/sampler.ts does it with the same random number.
 */
export interface Draw {
  /** 0 = the likeliest token, the lowest id among equals. */
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  /** Of the random number: `uniform(seed, index)` of generation/philox.ts. */
  readonly seed: number;
  readonly index: number;
  /** Bit id % 32 of word id / 32: whether a token may be drawn, those beyond the last word not; null = all may. */
  readonly allowed: Uint32Array | null;
}

/** What a step gives that draws. */
export interface Drawn {
  /** [R] -1 where logits are not numbers, and for rows that are not drawn from. */
  readonly ids: Int32Array;
  /** float32 [rows that are not drawn from, vocabSize], owned by the caller. */
  readonly logits: Float32Array;
}

/** A program bound to weights and memory. Steps run one at a time; the caller awaits one before the next. */
export interface Executable {
  /** Weight bytes read for one decoded token. */
  readonly bytesPerToken: number;
  readonly threads: number;
  /** Null where nothing is rounded. */
  readonly activationBits?: ActivationBits | null;
  /** See CompileOptions.calibration. */
  readonly openCalibration?: OpenCalibration;
  /** Logits, float32 [R, vocabSize], owned by the caller. Rejects with code 'cancelled' after `cancel`. */
  step(batch: StepBatch): Promise<Float32Array>;
  /**
   * The same step, but the backend draws from those rows that have a draw [R], of the first `columns` tokens. A row's token
   * depends on its logits and its draw alone. A backend without it gives logits.
   */
  stepDrawn?(batch: StepBatch, draws: readonly (Draw | null)[], columns: number): Promise<Drawn>;
  /**
   * Of the last step, float32 [T, hidden], owned by the caller: the program's hidden value. Only between steps, and not
   * after a step that failed or was cancelled. A backend without it makes no embeddings.
   */
  hidden?(): Float32Array;
  /** Ends the running step at the next instruction boundary; its KV writes are void. No effect when none runs. */
  cancel(): void;
  /**
   * [2 * n] source and destination blocks by turns: copies their keys and values in all layers. Only between steps.
   * A backend without it computes anew what two sequences share of a block.
   */
  copyBlocks?(pairs: Int32Array): void;
  /** A backend without it keeps nothing on disk. */
  readonly blockStore?: BlockStore;
  /** For programs with state layers. */
  readonly stateStore?: StateStore;
  /** Makes the recurrent state in slot `to` an equal of that in slot `from`. Only between steps. */
  copyState?(from: number, to: number): void;
  dispose(): void;
}

export interface Backend {
  readonly name: BackendName;
  /** One line for people: instruction set, threads, device. */
  readonly description: string;
  /** Tokens in one KV block of the executables it compiles. */
  readonly kvBlockSize: number;
  compile(program: Program, weights: WeightStore, options: CompileOptions): Promise<Executable>;
}
