import type { BackendName, KvBits, Precision } from './backend/backend';
import { PROBE_TOKENS } from './backend/calibrate';
import { blocksFor } from './cache/blocks';
import { slotsFor, stateSlotsFor } from './cache/sizes';
import type { Program } from './core/program';
import { EngineError } from './errors';

export interface EngineOptions {
  /** Model folder or GGUF file. */
  readonly modelDir: string;
  readonly backend: BackendName | 'auto';
  readonly precision: Precision;
  /** 0 = the backend decides. */
  readonly threads: number;
  /** Tokens; default: what the model was made for, at most DEFAULT_CONTEXT. */
  readonly contextLength?: number;
  /** Sequences that decode in one step, at most MAX_BATCH; default MAX_ROWS. Models with recurrent state may have fewer. */
  readonly batchSize?: number;
  /** Tokens in one step, more than batchSize and at most MAX_STEP; default PREFILL_STEP. */
  readonly prefillStep?: number;
  /** Megabytes on disk for keys and values of conversations; default 0: none are kept. */
  readonly sessionCache?: number;
  /** Folder or file of a small model with the same tokens, which guesses ahead; default: none. */
  readonly draftModelDir?: string;
  /** Bits of keys and values; default 16. */
  readonly kvBits?: KvBits;
  readonly features?: EngineFeatures;
  /**
   * When it is found out how far activations of a model may be rounded that is loaded for the first time: it takes longer than
   * reading it. 'when idle': for the next load, this one has 16 bits. Default 'at load'.
   */
  readonly calibration?: 'at load' | 'when idle';
}

/** Switches for finding out what is at fault; see extension/protocol/engine.ts. */
export interface EngineFeatures {
  /** Default true; false = the reference backend. */
  readonly kernels?: boolean;
  readonly decodeAttentionKernel?: boolean;
  readonly forceDequantized?: boolean;
}

/** How much of a model runs at once, and what it may remember. */
export interface EngineSizes {
  /** Tokens of the longest text. */
  readonly contextLength: number;
  /** Whole contexts that the KV pool holds. */
  readonly slots: number;
  /** 0 for models without recurrent state. */
  readonly stateSlots: number;
  readonly batchSize: number;
  /** Most sequences in one step: half of the states are for them, half for what they may go on from. */
  readonly maxRows: number;
  /** Most rows of logits in one step. */
  readonly maxLogitRows: number;
  /** Most tokens in one step of a backend. */
  stepOf(backend: BackendName): number;
  /** Blocks of so many tokens in the pool. */
  blocksOf(blockSize: number): number;
}

/** Longer contexts cost memory that few completions need; users raise it by option. */
const DEFAULT_CONTEXT = 8192;
const MIN_CONTEXT = 64;
/** Sequences that decode in the same step. */
const MAX_ROWS = 8;
/** Each costs a row of logits and, while it runs, keys and values. */
const MAX_BATCH = 64;
const MAX_STEP = 4096;
/** Tokens a prefill step: enough rows to reuse each weight, few enough to see a cancel soon. */
const PREFILL_STEP = { reference: 32, cpu: 256, metal: 512 } as const;

/** Throws bad_request for a number that is out of range. */
export function sizesOf(program: Program, options: EngineOptions): EngineSizes {
  const { batchSize = MAX_ROWS, prefillStep, precision, kvBits = 16 } = options;
  checkSteps(batchSize, prefillStep ?? MAX_STEP);
  const contextLength = contextOf(program, options.contextLength);
  const slots = slotsFor(program, contextLength, precision, kvBits);
  const stateSlots = stateSlotsFor(program, batchSize);
  return {
    contextLength,
    slots,
    stateSlots,
    batchSize,
    maxRows: stateSlots > 0 ? Math.min(batchSize, Math.floor(stateSlots / 2)) : batchSize,
    // Calibration and scores of prompts look at some tokens at a time.
    maxLogitRows: Math.max(batchSize, PROBE_TOKENS),
    stepOf: (backend) => prefillStep ?? Math.max(PREFILL_STEP[backend], batchSize + 1),
    blocksOf: (blockSize) => blocksFor(contextLength, blockSize) * slots,
  };
}

function checkSteps(batchSize: number, prefillStep: number): void {
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > MAX_BATCH) {
    throw new EngineError('bad_request', `batch size ${batchSize}: expected 1 to ${MAX_BATCH}`);
  }
  if (!Number.isInteger(prefillStep) || prefillStep <= batchSize || prefillStep > MAX_STEP) {
    throw new EngineError(
      'bad_request',
      `prefill step ${prefillStep}: expected ${batchSize + 1}, one more than the batch size, to ${MAX_STEP}`,
    );
  }
}

function contextOf(program: Program, wanted: number | undefined): number {
  if (wanted === undefined) return Math.min(program.contextLength, DEFAULT_CONTEXT);
  if (!Number.isInteger(wanted) || wanted < MIN_CONTEXT || wanted > program.contextLength) {
    throw new EngineError(
      'bad_request',
      `context ${wanted}: this model takes ${MIN_CONTEXT} to ${program.contextLength} tokens`,
    );
  }
  return wanted;
}
