import type { ChatEngine } from '../chat/engine';
import type { CompletionEngine } from '../completion/engine';
import type { EmbedRequest, EngineRequest } from '../engine';
import type { Grammar } from '../generation/constrain/constraint';
import type { SchedulerMetrics } from '../generation/scheduler/metrics';
import type { GenerateResult } from '../generation/types';

/** What the server uses of a loaded model. */
export interface ServerEngine extends CompletionEngine, ChatEngine {
  readonly info: ChatEngine['info'] & { readonly backend: string };
  /** Numbers of an embedding. */
  readonly embeddingSize: number;
  generate(request: EngineRequest): Promise<GenerateResult>;
  /** [embeddingSize], of length 1. */
  embed(request: EmbedRequest): Promise<Float32Array>;
  /** Throws bad_request when a grammar is wrong or not supported. */
  checkGrammar(grammar: Grammar): void;
  /** Null when nothing is counted. */
  metrics(): SchedulerMetrics | null;
}

export type ModelState = 'idle' | 'loading' | 'ready' | 'failed';

/** A model that clients can name. */
export interface ServedModel {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly state: ModelState;
  /** The model when it is in memory, for its metrics. */
  readonly loaded: ServerEngine | null;
  /** Runs `task` with the model, which is loaded first if need be and stays until the task ends. */
  use<T>(task: (engine: ServerEngine) => Promise<T>): Promise<T>;
}
