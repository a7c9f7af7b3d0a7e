import type { Backend, BackendName, CompileOptions } from './backend/backend';
import { cacheFolder } from './backend/packed_cache';
import { type Compilation, compileSelected } from './backend/select';
import { TableFiles } from './backend/table_files';
import { PagedCache } from './cache/paged';
import { SEGMENT_TOKENS } from './cache/saved/segment_keys';
import { fuse } from './core/fuse';
import { buildProgram } from './core/models/registry';
import type { Program } from './core/program';
import { forContext } from './core/rope';
import { Engine } from './engine';
import { type EngineOptions, type EngineSizes, sizesOf } from './engine_options';
import { EngineError } from './errors';
import { Grammars } from './generation/constrain/grammars';
import { loadFinalNorm } from './generation/embedding';
import { openSavedCache } from './generation/saved/open_saved_cache';
import type { SavedCache } from './generation/saved/saved_cache';
import { Scheduler } from './generation/scheduler/scheduler';
import type { DraftModel } from './generation/speculate/draft_model';
import { openDraftModel } from './generation/speculate/open_draft_model';
import { laterCalibration } from './later_calibration';
import { findFim } from './loading/fim';
import type { GenerationConfig } from './loading/generation_config';
import type { ModelSource } from './loading/model_source';
import { openModel } from './loading/open_model';
import type { Tokenizer } from './loading/tokenizer';

export interface LoadEvents {
  readonly onProgress?: (message: string) => void;
  /** Something is given up while the model runs; answers stay right. */
  readonly onWarning?: (message: string) => void;
  /** Nothing runs, and the model would be faster if it were loaded anew. */
  readonly onFaster?: () => void;
}

/** What is read of a model beside its weights. */
interface Texts {
  readonly tokenizer: Tokenizer;
  readonly generationConfig: GenerationConfig;
}

/** A model that can compute. */
interface Compiled extends Compilation, Texts {
  readonly model: ModelSource;
  readonly options: EngineOptions;
  readonly events: LoadEvents;
  readonly program: Program;
  readonly sizes: EngineSizes;
}

/** Throws EngineError bad_model, unsupported, unavailable, bad_request or out_of_memory; nothing stays open then. */
export async function loadEngine(options: EngineOptions, events: LoadEvents = {}): Promise<Engine> {
  const started = performance.now();
  events.onProgress?.(`reading ${options.modelDir}`);
  const model = openModel(options.modelDir);
  try {
    const compiled = await compile(model, options, events);
    return await assemble(compiled, started).catch((error: unknown) => {
      compiled.executable.dispose();
      throw error;
    });
  } finally {
    model.close();
  }
}

/** Brings the weights to a backend, and reads the texts meanwhile. */
async function compile(
  model: ModelSource,
  options: EngineOptions,
  events: LoadEvents,
): Promise<Compiled> {
  const { weights } = model;
  const { kernels = true } = options.features ?? {};
  const whole = fuse(buildProgram(model.config(), weights));
  const sizes = sizesOf(whole, options);
  const program = forContext(whole, sizes.contextLength);
  weights.assertPresent(program.weights.map((weight) => weight.name));
  const compiling = compileSelected(
    kernels ? options.backend : withoutKernels(options.backend),
    program,
    weights,
    (backend) => {
      events.onProgress?.(`loading weights for the ${backend.name} backend`);
      const { calibration = 'at load' } = options;
      return {
        ...compileOptions(backend, options, sizes),
        calibration: calibration === 'at load' ? 'now' : 'later',
      };
    },
  );
  const [compilation, texts] = await meanwhile(compiling, () => readTexts(model, program));
  return { ...compilation, ...texts, model, options, events, program, sizes };
}

/** Rejects when the model has more than was used, or a part of it cannot be opened. */
async function assemble(compiled: Compiled, started: number): Promise<Engine> {
  const { model, program, sizes, backend, executable, tokenizer, generationConfig } = compiled;
  const { contextLength, maxRows, maxLogitRows } = sizes;
  const norm = loadFinalNorm(program, model.weights);
  model.weights.assertAllUsed();
  const manifest = model.manifest();
  const fim = findFim(tokenizer, manifest);
  const chat = model.chatTemplate(tokenizer);
  const pooling = model.pooling() ?? 'mean';
  const cache = cacheOf(compiled);
  const saved = savedCacheOf(compiled, cache);
  const draftModel = await draftModelOf(compiled);
  const calibration = laterCalibration(
    {
      path: model.path,
      program,
      backend,
      options: compileOptions(backend, compiled.options, sizes),
    },
    executable.openCalibration,
    compiled.events.onFaster,
  );
  const { eosIds } = generationConfig;
  const parts = {
    executable,
    tokenizer,
    eosIds,
    vocabSize: Math.min(program.vocabSize, tokenizer.vocabSize),
    prefillStep: sizes.stepOf(backend.name),
  };
  const scheduler = new Scheduler({
    ...parts,
    cache,
    maxRows,
    maxLogitRows,
    ...(saved && { saved }),
    ...(calibration && { idleWork: calibration }),
    ...(draftModel && { draftModel }),
    ...(compiled.events.onWarning && { warn: compiled.events.onWarning }),
  });
  return new Engine({
    info: {
      model: program.model,
      title: manifest.title,
      modelDir: model.path,
      backend: backend.name,
      backendDescription: backend.description,
      fallbackReason: compiled.fallbackReason,
      contextLength,
      threads: executable.threads,
      bytesPerToken: executable.bytesPerToken,
      loadMs: performance.now() - started,
      hasChatTemplate: chat !== null,
      hasFim: fim !== null,
    },
    tokenizer,
    fim,
    chat,
    generationConfig,
    scheduler,
    models: draftModel === null ? [executable] : [executable, draftModel],
    openCalibration: executable.openCalibration ?? null,
    grammars: new Grammars(parts),
    embeddings: { norm, pooling },
  });
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

function readTexts(model: ModelSource, program: Program): Texts {
  const tokenizer = model.tokenizer(new TableFiles(cacheFolder())).within(program.vocabSize);
  return { tokenizer, generationConfig: model.generationConfig(tokenizer) };
}

function compileOptions(
  { name, kvBlockSize }: Backend,
  options: EngineOptions,
  sizes: EngineSizes,
): CompileOptions {
  const { precision, threads, kvBits } = options;
  const { decodeAttentionKernel, forceDequantized } = options.features ?? {};
  const { stateSlots, maxLogitRows } = sizes;
  return {
    precision,
    threads,
    kvBlocks: sizes.blocksOf(kvBlockSize),
    maxTokens: sizes.stepOf(name),
    maxLogitRows,
    packed: { folder: cacheFolder() },
    ...(kvBits !== undefined && { kvBits }),
    ...(stateSlots > 0 && { stateSlots }),
    ...(decodeAttentionKernel !== undefined && { decodeAttentionKernel }),
    ...(forceDequantized !== undefined && { forceDequantized }),
  };
}

function cacheOf({ executable, sizes, backend, options }: Compiled): PagedCache {
  const { contextLength, stateSlots } = sizes;
  const { kvBlockSize: blockSize } = backend;
  const { sessionCache = 0 } = options;
  const copy = (from: number, to: number) => executable.copyState?.(from, to);
  return new PagedCache({
    numBlocks: sizes.blocksOf(blockSize),
    blockSize,
    contextLength,
    copyBlocks: executable.copyBlocks && ((pairs) => executable.copyBlocks?.(pairs)),
    ...(stateSlots > 0 && {
      states: {
        numSlots: stateSlots,
        copy,
        ...(sessionCache > 0 && { savedEvery: SEGMENT_TOKENS }),
      },
    }),
  });
}

function savedCacheOf(compiled: Compiled, cache: PagedCache): SavedCache | null {
  const { model, options, program, backend, executable } = compiled;
  const { precision, kvBits = 16, sessionCache = 0 } = options;
  const { decodeAttentionKernel, forceDequantized } = options.features ?? {};
  const computation = {
    program,
    weights: model.weights,
    backend: backend.name,
    backendDescription: backend.description,
    precision,
    executable,
    switches: { kvBits, decodeAttentionKernel, forceDequantized },
  };
  return openSavedCache(computation, cache, sessionCache);
}

/** Null where none is wanted. */
async function draftModelOf(compiled: Compiled): Promise<DraftModel | null> {
  const { options, sizes, backend, tokenizer } = compiled;
  const { draftModelDir: path } = options;
  const { batchSize: maxRows, contextLength, stateSlots } = sizes;
  if (path === undefined) return null;
  if (stateSlots > 0) {
    throw new EngineError(
      'bad_request',
      `draft model ${path}: the model has recurrent state, which cannot take back a wrong guess; use it without`,
    );
  }
  const compile = compileOptions(backend, options, sizes);
  return openDraftModel({ path, backend, compile, maxRows, tokenizer, contextLength });
}

function withoutKernels(backend: BackendName | 'auto'): 'reference' {
  if (backend === 'auto' || backend === 'reference') return 'reference';
  throw new EngineError(
    'bad_request',
    `backend ${backend} without kernels: it has nothing else; use backend auto or reference`,
  );
}
