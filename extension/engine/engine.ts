import type { BackendName, OpenCalibration } from './backend/backend';
import { EngineError } from './errors';
import type { Grammar } from './generation/constrain/constraint';
import type { Grammars } from './generation/constrain/grammars';
import { type FinalNorm, HiddenPool } from './generation/embedding';
import type { SchedulerMetrics } from './generation/scheduler/metrics';
import type { Scheduler } from './generation/scheduler/scheduler';
import {
  GREEDY,
  type GenerateRequest,
  type GenerateResult,
  type HiddenReader,
  type Priority,
} from './generation/types';
import type { ChatTemplate } from './loading/chat_template';
import type { FimFormat } from './loading/fim';
import type { GenerationConfig } from './loading/generation_config';
import type { Pooling } from './loading/pooling';
import type { Tokenizer } from './loading/tokenizer';

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

export interface EngineParts {
  readonly info: EngineInfo;
  readonly tokenizer: Tokenizer;
  readonly fim: FimFormat | null;
  readonly chat: ChatTemplate | null;
  readonly generationConfig: GenerationConfig;
  readonly scheduler: Scheduler;
  /** What is freed at the end. */
  readonly models: readonly { dispose(): void }[];
  /** Null where nothing is open. */
  readonly openCalibration: OpenCalibration | null;
  readonly grammars: Grammars;
  readonly embeddings: { readonly norm: FinalNorm | null; readonly pooling: Pooling };
}

/** A loaded model that generates; the one object that the child, the CLI and the server hold. See load_engine.ts. */
export class Engine {
  readonly info: EngineInfo;
  readonly tokenizer: Tokenizer;
  readonly fim: FimFormat | null;
  readonly chat: ChatTemplate | null;
  readonly generationConfig: GenerationConfig;
  private readonly scheduler: Scheduler;

  constructor(private readonly parts: EngineParts) {
    this.info = parts.info;
    this.tokenizer = parts.tokenizer;
    this.fim = parts.fim;
    this.chat = parts.chat;
    this.generationConfig = parts.generationConfig;
    this.scheduler = parts.scheduler;
  }

  /** Waits for its turn, then streams through `request.onText`. An abort resolves with what there is. */
  async generate(request: EngineRequest): Promise<GenerateResult> {
    const { grammar, ...rest } = request;
    if (grammar === undefined) return this.scheduler.generate(rest);
    return this.scheduler.generate({ ...rest, constraint: this.parts.grammars.begin(grammar) });
  }

  /** Numbers of an embedding. */
  get embeddingSize(): number {
    return this.parts.embeddings.norm?.width ?? 0;
  }

  /** The meaning of a text as numbers [embeddingSize], of length 1. Rejects with 'cancelled' after an abort. */
  async embed({ ids, pooling, ...rest }: EmbedRequest): Promise<Float32Array> {
    const { norm, pooling: usual } = this.parts.embeddings;
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
    this.parts.grammars.begin(grammar).mask(new Float32Array(this.tokenizer.vocabSize));
  }

  /** Finds out how far activations may be rounded, if that was left for later. Only before the first request. */
  async calibrate(): Promise<void> {
    await this.parts.openCalibration?.run();
  }

  /** Counts of the scheduler. */
  metrics(): SchedulerMetrics {
    return this.scheduler.metrics();
  }

  /** Writes nothing to disk of the conversations so far that is not there yet. */
  async forgetUnwritten(): Promise<void> {
    await this.scheduler.forgetUnwritten();
  }

  /** Throws 'internal' when a block of the cache or a request is not where it belongs. */
  checkIntegrity(): void {
    this.scheduler.checkIntegrity();
  }

  async dispose(): Promise<void> {
    await this.scheduler.close();
    for (const model of this.parts.models) model.dispose();
  }
}
