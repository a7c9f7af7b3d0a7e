import { amount, flag, integer, nullable, object, oneOf, text, union, type Check } from './check';
import { ERROR_CODES, type ErrorCode } from './errors';

export const BACKEND_CHOICES = ['auto', 'cpu', 'metal', 'reference'] as const;
export type BackendChoice = (typeof BACKEND_CHOICES)[number];

/** How a server is asked for text in the middle; extension/engine/remote/probe.ts says what each means. */
export const REMOTE_FIM = ['auto', 'infill', 'suffix', 'template'] as const;
export type RemoteFim = (typeof REMOTE_FIM)[number];

/** An OpenAI-compatible server. */
export interface RemoteServer {
  /** With or without /v1 at the end. */
  readonly url: string;
  /** '' = the first that the server lists. */
  readonly model: string;
  /** '' = none is sent. */
  readonly apiKey: string;
  readonly fim: RemoteFim;
}

/** Switches for finding out what is at fault: without a feature everything still works, slower. */
export interface EngineFeatures {
  /** False: the reference backend computes, in plain TypeScript. */
  readonly kernels: boolean;
  /** False: threads never share the keys of one token, as they do to decode long contexts faster. */
  readonly decodeAttentionKernel: boolean;
  /** True: quantized weights are decoded to float32 when they are loaded; needs up to eight times the memory. */
  readonly forceDequantized: boolean;
}

export const DEFAULT_FEATURES: EngineFeatures = {
  kernels: true,
  decodeAttentionKernel: true,
  forceDequantized: false,
};

export const KV_BITS = [8, 16] as const;
export type KvBits = (typeof KV_BITS)[number];

/** What the child needs to know to load a model. All of it comes from settings of the user's own machine. */
export interface EngineSettings {
  readonly modelDir: string;
  /** Folder or GGUF file of the model that chats; '' = none. The same as `modelDir`: one model in memory for both. */
  readonly chatModelDir: string;
  /** Folder or GGUF file of a small model that guesses for the one that chats; '' = none. */
  readonly draftModelDir: string;
  readonly backend: BackendChoice;
  /** 0 = the engine decides. */
  readonly threads: number;
  /** Tokens; 0 = the model's own, within the engine's default limit. */
  readonly contextLength: number;
  /** The same for the chat model. */
  readonly chatContextLength: number;
  /** Answers that are written in one step, and tokens that one step takes; 0 = the engine decides. */
  readonly batchSize: number;
  readonly prefillStep: number;
  /** Megabytes on disk for keys and values of conversations, for after a restart; 0 = none are kept. */
  readonly sessionCache: number;
  /** Of an element of keys and values. */
  readonly kvBits: KvBits;
  readonly features: EngineFeatures;
  /** A server that answers in place of models of this machine; null = none. */
  readonly remote: RemoteServer | null;
  /** The model leaves memory after this time without a request; 0 = never. */
  readonly idleMinutes: number;
}

/** The loaded model, for people and for the status bar. */
export interface EngineSummary {
  readonly model: string;
  readonly title: string;
  readonly modelDir: string;
  readonly backend: string;
  readonly backendDescription: string;
  /** Why a slower backend than the wanted one serves; null when none does. */
  readonly fallbackReason: string | null;
  readonly contextLength: number;
  readonly threads: number;
  readonly loadMs: number;
  readonly hasFim: boolean;
  readonly hasChatTemplate: boolean;
}

export type EngineStatus =
  | { readonly state: 'idle'; readonly memoryBytes: number }
  | { readonly state: 'loading'; readonly message: string }
  | { readonly state: 'ready'; readonly engine: EngineSummary; readonly memoryBytes: number }
  | { readonly state: 'generating'; readonly engine: EngineSummary }
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly message: string };

/** What was removed of packed weights and kept conversations. */
export interface ClearedCache {
  readonly files: number;
  readonly bytes: number;
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
}

const line = text(8192);
const count = integer(0, 2 ** 31);

export const checkEngineSettings: Check<EngineSettings> = object<EngineSettings>({
  modelDir: text(4096),
  chatModelDir: text(4096),
  draftModelDir: text(4096),
  backend: oneOf(BACKEND_CHOICES),
  threads: integer(0, 1024),
  contextLength: integer(0, 2 ** 24),
  chatContextLength: integer(0, 2 ** 24),
  batchSize: integer(0, 64),
  prefillStep: integer(0, 4096),
  sessionCache: integer(0, 2 ** 20),
  kvBits: oneOf(KV_BITS),
  idleMinutes: amount,
  features: object<EngineFeatures>({
    kernels: flag,
    decodeAttentionKernel: flag,
    forceDequantized: flag,
  }),
  remote: nullable(
    object<RemoteServer>({
      url: text(2048),
      model: text(512),
      apiKey: text(4096),
      fim: oneOf(REMOTE_FIM),
    }),
  ),
});

export const checkEngineSummary: Check<EngineSummary> = object<EngineSummary>({
  model: line,
  title: line,
  modelDir: line,
  backend: line,
  backendDescription: line,
  fallbackReason: nullable(line),
  contextLength: count,
  threads: count,
  loadMs: amount,
  hasFim: flag,
  hasChatTemplate: flag,
});

export const checkClearedCache: Check<ClearedCache> = object<ClearedCache>({
  files: count,
  bytes: amount,
});

const state = <S extends string>(name: S): Check<S> => oneOf([name]);

export const checkEngineStatus: Check<EngineStatus> = union<'state', EngineStatus>('state', {
  idle: object({ state: state('idle'), memoryBytes: amount }),
  loading: object({ state: state('loading'), message: line }),
  ready: object({ state: state('ready'), engine: checkEngineSummary, memoryBytes: amount }),
  generating: object({ state: state('generating'), engine: checkEngineSummary }),
  failed: object({ state: state('failed'), code: oneOf(ERROR_CODES), message: line }),
});

export const checkLogEntry: Check<LogEntry> = object<LogEntry>({
  level: oneOf(LOG_LEVELS),
  message: text(64 * 1024),
});
