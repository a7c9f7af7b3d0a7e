import type { Backend, BackendName, Executable, KvBits, Precision } from './backend/backend';
import { PROBE_TOKENS } from './backend/calibrate';
import { cacheFolder } from './backend/packed_cache';
import { type Compilation, compileSelected } from './backend/select';
import { blocksFor } from './cache/blocks';
import { PagedCache } from './cache/paged';
import { slotsFor, stateSlotsFor } from './cache/sizes';
import { fuse } from './core/fuse';
import { buildProgram } from './core/models/registry';
import type { Program } from './core/program';
import { EngineError } from './errors';
import type { Grammar } from './generation/constrain/constraint';
import { Grammars } from './generation/constrain/grammars';
import { type FinalNorm, HiddenPool, loadFinalNorm } from './generation/embedding';
import type { SchedulerMetrics } from './generation/scheduler/metrics';
import type { DraftModel } from './generation/speculate/draft_model';
import { type DraftModelOptions, openDraftModel } from './generation/speculate/open_draft_model';
import { openSavedCache } from './generation/saved/open_saved_cache';
import { Scheduler, type SchedulerParts } from './generation/scheduler/scheduler';
import {
  GREEDY,
  type GenerateRequest,
  type GenerateResult,
  type HiddenReader,
  type Priority,
} from './generation/types';
import type { ChatTemplate } from './loading/chat_template';
import { findFim, type FimFormat } from './loading/fim';
import type { GenerationConfig } from './loading/generation_config';
import { type ModelSource, openModel } from './loading/model_source';
import type { Pooling } from './loading/pooling';
import { assertVocabularyFits, type Tokenizer } from './loading/tokenizer';

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
}

/** Switches for finding out what is at fault; see extension/protocol/engine.ts. */
export interface EngineFeatures {
  /** Default true; false = the reference backend. */
  readonly kernels?: boolean;
  readonly decodeAttentionKernel?: boolean;
  readonly forceDequantized?: boolean;
}

export interface EngineRequest extends Omit<GenerateRequest, 'constraint'> {
  /** What the text must be. The answer ends by itself when it is complete. */
  readonly grammar?: Grammar;
}

export interface EmbedRequest {
  readonly ids: readonly number[];
  /** Default: what the model's authors say, else the mean. */
  readonly pooling?: Pooling;
  readonly priority?: Priority;
  readonly signal?: AbortSignal;
}

export interface EngineInfo {
  /** config.json's model_type. */
  readonly model: string;
  readonly title: string;
  readonly modelDir: string;
  readonly backend: BackendName;
  readonly backendDescription: string;
  readonly fallbackReason: string | null;
  readonly contextLength: number;
  readonly threads: number;
  readonly bytesPerToken: number;
  readonly loadMs: number;
  readonly hasChatTemplate: boolean;
  readonly hasFim: boolean;
}

/** Longer contexts cost memory that few completions need; users raise it by option. */
const DEFAULT_CONTEXT = 8192;
/** Sequences that decode in the same step. */
const MAX_ROWS = 8;
/** Each costs a row of logits and, while it runs, keys and values. */
const MAX_BATCH = 64;
const MAX_STEP = 4096;
/** Tokens a prefill step: enough rows to reuse each weight, few enough to see a cancel soon. */
const PREFILL_STEP = { reference: 32, cpu: 256, metal: 512 } as const;

/** A loaded model that generates; the one object that the child, the CLI and the server hold. */
export class Engine {
  private constructor(
    readonly info: EngineInfo,
    readonly tokenizer: Tokenizer,
    readonly fim: FimFormat | null,
    readonly chat: ChatTemplate | null,
    readonly generationConfig: GenerationConfig,
    private readonly scheduler: Scheduler,
    /** What is freed at the end. */
    private readonly models: readonly { dispose(): void }[],
    private readonly grammars: Grammars,
    private readonly embeddings: { readonly norm: FinalNorm | null; readonly pooling: Pooling },
  ) {}

  /** Throws EngineError bad_model, unsupported, unavailable or out_of_memory; nothing stays open then. */
  static async load(
    options: EngineOptions,
    onProgress: (message: string) => void = () => {},
  ): Promise<Engine> {
    const started = performance.now();
    onProgress(`reading ${options.modelDir}`);
    const model = openModel(options.modelDir);
    try {
      return await Engine.loadFrom(model, options, onProgress, started);
    } finally {
      model.close();
    }
  }

  private static async loadFrom(
    model: ModelSource,
    options: EngineOptions,
    onProgress: (message: string) => void,
    started: number,
  ): Promise<Engine> {
    const { weights: store } = model;
    const { batchSize = MAX_ROWS, prefillStep, sessionCache = 0, precision, kvBits = 16 } = options;
    checkSteps(batchSize, prefillStep ?? MAX_STEP);
    const { kernels = true, decodeAttentionKernel, forceDequantized } = options.features ?? {};
    const program = fuse(buildProgram(model.config(), store));
    const contextLength = contextOf(program, options.contextLength);
    const slots = slotsFor(program, contextLength, precision, kvBits);
    const stateSlots = stateSlotsFor(program, batchSize);
    store.assertPresent(program.weights.map((weight) => weight.name));
    const optionsFor = ({ name, kvBlockSize }: Backend) => {
      onProgress(`loading weights for the ${name} backend`);
      return {
        precision,
        kvBits,
        kvBlocks: blocksFor(contextLength, kvBlockSize) * slots,
        maxTokens: prefillStep ?? stepFor(name, batchSize),
        maxLogitRows: logitRowsFor(batchSize),
        ...(stateSlots > 0 && { stateSlots }),
        threads: options.threads,
        packed: { folder: cacheFolder() },
        ...(decodeAttentionKernel !== undefined && { decodeAttentionKernel }),
        ...(forceDequantized !== undefined && { forceDequantized }),
      };
    };
    const compiling = compileSelected(
      kernels ? options.backend : withoutKernels(options.backend),
      program,
      store,
      optionsFor,
    );
    const [{ backend, fallbackReason, executable }, { tokenizer, generationConfig }] =
      await meanwhile(compiling, () => readTexts(model, program));
    const norm = loadFinalNorm(program, store);
    store.assertAllUsed();
    const manifest = model.manifest();
    const fim = findFim(tokenizer, manifest);
    const chat = model.chatTemplate(tokenizer);
    const parts = {
      executable,
      tokenizer,
      eosIds: generationConfig.eosIds,
      vocabSize: Math.min(program.vocabSize, tokenizer.vocabSize),
      prefillStep: prefillStep ?? stepFor(backend.name, batchSize),
    };
    const pool = { slots, contextLength, blockSize: backend.kvBlockSize, stateSlots, batchSize };
    const cache = cacheOf(executable, pool);
    const computation = {
      program,
      weights: store,
      backend: backend.name,
      backendDescription: backend.description,
      precision,
      executable,
      switches: { kvBits, decodeAttentionKernel, forceDequantized },
    };
    const saved = openSavedCache(computation, cache, sessionCache);
    const draftModel = await openDraft(options.draftModelDir, {
      backend,
      compile: optionsFor(backend),
      maxRows: batchSize,
      tokenizer,
      contextLength,
    }).catch((error: unknown) => {
      executable.dispose();
      throw error;
    });
    const scheduler = schedulerOf(
      { ...parts, cache, ...(saved && { saved }), ...(draftModel && { draftModel }) },
      pool,
    );
    const info: EngineInfo = {
      model: program.model,
      title: manifest.title,
      modelDir: model.path,
      backend: backend.name,
      backendDescription: backend.description,
      fallbackReason,
      contextLength,
      threads: executable.threads,
      bytesPerToken: executable.bytesPerToken,
      loadMs: performance.now() - started,
      hasChatTemplate: chat !== null,
      hasFim: fim !== null,
    };
    const grammars = new Grammars(parts);
    return new Engine(
      info,
      tokenizer,
      fim,
      chat,
      generationConfig,
      scheduler,
      draftModel === null ? [executable] : [executable, draftModel],
      grammars,
      { norm, pooling: model.pooling() ?? 'mean' },
    );
  }

  /** Waits for its turn, then streams through `request.onText`. An abort resolves with what there is. */
  async generate(request: EngineRequest): Promise<GenerateResult> {
    const { grammar, ...rest } = request;
    if (grammar === undefined) return this.scheduler.generate(rest);
    return this.scheduler.generate({ ...rest, constraint: this.grammars.begin(grammar) });
  }

  /** Numbers of an embedding. */
  get embeddingSize(): number {
    return this.embeddings.norm?.width ?? 0;
  }

  /** The meaning of a text as numbers [embeddingSize], of length 1. Rejects with 'cancelled' after an abort. */
  async embed({ ids, pooling, ...rest }: EmbedRequest): Promise<Float32Array> {
    const { norm, pooling: usual } = this.embeddings;
    if (norm === null) throw new EngineError('unsupported', 'this model makes no embeddings');
    const kind = pooling ?? usual;
    const pool = new HiddenPool(norm, kind);
    const hidden: HiddenReader = {
      needsAll: kind === 'mean',
      add: (states, first) => pool.add(states, first),
    };
    const request = { ids, maxTokens: 1, sampling: GREEDY, stop: [], hidden, ...rest };
    const { finishReason } = await this.scheduler.generate(request);
    if (finishReason !== 'cancelled') return pool.vector();
    throw new EngineError('cancelled', 'the request was cancelled');
  }

  /** Throws bad_request when a grammar is wrong or not supported, as a request with it would. */
  checkGrammar(grammar: Grammar): void {
    // Some grammars turn out to have no text when the first token is looked for.
    this.grammars.begin(grammar).mask(new Float32Array(this.tokenizer.vocabSize));
  }

  /** Counts of the scheduler. */
  metrics(): SchedulerMetrics {
    return this.scheduler.metrics();
  }

  /** Throws 'internal' when a block of the cache or a request is not where it belongs. */
  checkIntegrity(): void {
    this.scheduler.checkIntegrity();
  }

  async dispose(): Promise<void> {
    await this.scheduler.close();
    for (const model of this.models) model.dispose();
  }
}

/** Does `work` on this thread while weights are loaded on others. */
async function meanwhile<T>(
  compiling: Promise<Compilation>,
  work: () => T,
): Promise<[Compilation, T]> {
  let result: T;
  try {
    result = work();
  } catch (error) {
    await compiling.then(({ executable }) => executable.dispose()).catch(() => {});
    throw error;
  }
  return [await compiling, result];
}

function readTexts(model: ModelSource, program: Program) {
  const tokenizer = model.tokenizer();
  assertVocabularyFits(tokenizer, program.vocabSize);
  return { tokenizer, generationConfig: model.generationConfig(tokenizer) };
}

interface Pool {
  /** Whole contexts that the KV pool holds. */
  readonly slots: number;
  readonly contextLength: number;
  readonly blockSize: number;
  /** 0 for models without recurrent state. */
  readonly stateSlots: number;
  readonly batchSize: number;
}

function cacheOf(
  executable: Executable,
  { slots, contextLength, blockSize, stateSlots }: Pool,
): PagedCache {
  const copy = (from: number, to: number) => executable.copyState?.(from, to);
  return new PagedCache({
    numBlocks: blocksFor(contextLength, blockSize) * slots,
    blockSize,
    contextLength,
    copyBlocks: executable.copyBlocks && ((pairs) => executable.copyBlocks?.(pairs)),
    ...(stateSlots > 0 && { states: { numSlots: stateSlots, copy } }),
  });
}

function schedulerOf(
  parts: Omit<SchedulerParts, 'maxRows'>,
  { stateSlots, batchSize }: Pool,
): Scheduler {
  // Half of the states for sequences, half for what they may go on from.
  const maxRows = stateSlots > 0 ? Math.min(batchSize, Math.floor(stateSlots / 2)) : batchSize;
  return new Scheduler({ ...parts, maxRows, maxLogitRows: logitRowsFor(batchSize) });
}

/** Null where none is wanted. */
async function openDraft(
  path: string | undefined,
  options: Omit<DraftModelOptions, 'path'>,
): Promise<DraftModel | null> {
  if (path === undefined) return null;
  if (options.compile.stateSlots === undefined) return openDraftModel({ path, ...options });
  throw new EngineError(
    'bad_request',
    `draft model ${path}: the model has recurrent state, which cannot take back a wrong guess; use it without`,
  );
}

function withoutKernels(backend: BackendName | 'auto'): 'reference' {
  if (backend === 'auto' || backend === 'reference') return 'reference';
  throw new EngineError(
    'bad_request',
    `backend ${backend} without kernels: it has nothing else; use backend auto or reference`,
  );
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

/** Calibration and scores of prompts look at some tokens at a time. */
function logitRowsFor(batchSize: number): number {
  return Math.max(batchSize, PROBE_TOKENS);
}

function stepFor(backend: BackendName, batchSize: number): number {
  return Math.max(PREFILL_STEP[backend], batchSize + 1);
}

function contextOf(program: Program, wanted: number | undefined): number {
  if (wanted === undefined) return Math.min(program.contextLength, DEFAULT_CONTEXT);
  if (!Number.isInteger(wanted) || wanted < 64 || wanted > program.contextLength) {
    throw new EngineError(
      'bad_request',
      `context ${wanted}: this model takes 64 to ${program.contextLength} tokens`,
    );
  }
  return wanted;
}
