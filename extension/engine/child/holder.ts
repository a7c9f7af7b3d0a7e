import type { ChatRequest, ChatResult } from '../../protocol/chat';
import type { CompletionRequest, CompletionResult } from '../../protocol/completion';
import type { EngineStatus, EngineSummary } from '../../protocol/engine';
import type { ChatRunOptions } from '../chat/chat';
import type { CompleteOptions } from '../completion/complete';
import { EngineError } from '../errors';
import type { ModelState, ServerEngine } from '../server/engine';

/** A model that runs here, as far as the child needs it. */
export interface LocalEngine extends ServerEngine {
  readonly info: EngineSummary;
  /** Writes nothing to disk of the conversations so far that is not there yet. */
  forgetUnwritten(): Promise<void>;
  dispose(): Promise<void>;
}

/** A model that answers, here or on another server. */
export interface HeldEngine {
  readonly info: EngineSummary;
  /** Null when it runs elsewhere. */
  readonly local: LocalEngine | null;
  complete(request: CompletionRequest, options: CompleteOptions): Promise<CompletionResult>;
  chat(request: ChatRequest, options: ChatRunOptions): Promise<ChatResult>;
  countTokens(texts: readonly string[]): Promise<readonly number[]>;
  dispose(): Promise<void>;
}

export type LoadEngine = (onProgress: (message: string) => void) => Promise<HeldEngine>;

export interface HolderOptions {
  readonly load: LoadEngine;
  /** The model leaves memory after this time without use; 0 = never. */
  readonly idleMs: number;
  readonly onStatus: (status: EngineStatus) => void;
}

/**
 * Owns one loaded model of the child: loads it on first use, frees it after idle time, tells the host what it
 * does. A failed load is remembered, so that a broken model is not read again with every keystroke; `load` tries again.
 */
export class EngineHolder {
  private loading: Promise<HeldEngine> | null = null;
  private engine: HeldEngine | null = null;
  private failed = false;
  private users = 0;
  private idleTimer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly options: HolderOptions) {}

  get state(): ModelState {
    if (this.failed) return 'failed';
    if (this.engine !== null) return 'ready';
    return this.loading === null ? 'idle' : 'loading';
  }

  /** The model while it is in memory. */
  get loaded(): HeldEngine | null {
    return this.engine;
  }

  /** Loads the model unless it is there. Rejects with the loader's EngineError. */
  async load(): Promise<EngineSummary> {
    if (this.failed) this.loading = null;
    const engine = await this.ensure();
    this.restartIdleTimer();
    return summaryOf(engine);
  }

  /** Runs `task` with the model; the model stays in memory until it ends. */
  async use<T>(task: (engine: HeldEngine) => Promise<T>): Promise<T> {
    this.users++;
    clearTimeout(this.idleTimer);
    try {
      const engine = await this.ensure();
      this.options.onStatus({ state: 'generating', engine: summaryOf(engine) });
      return await task(engine);
    } finally {
      this.users--;
      if (this.users === 0) this.rest();
    }
  }

  /** Frees the model's memory; a running generation ends first, with what it has. */
  async unload(): Promise<void> {
    clearTimeout(this.idleTimer);
    const engine = await this.loading?.catch(() => null);
    if (engine && this.engine === engine) await this.free(engine);
  }

  /** Loads the model anew, unless somebody uses it or it is not in memory. */
  async renew(): Promise<void> {
    if (this.users > 0 || this.engine === null) return;
    await this.free(this.engine);
    if (!this.closed) await this.load();
  }

  /** Refuses everything from now on and frees the model. */
  async close(): Promise<void> {
    this.closed = true;
    await this.unload();
  }

  private async free(engine: HeldEngine): Promise<void> {
    clearTimeout(this.idleTimer);
    this.engine = null;
    this.loading = null;
    await engine.dispose();
    if (this.engine === null && this.loading === null)
      this.options.onStatus({ state: 'idle', memoryBytes: process.memoryUsage.rss() });
  }

  private ensure(): Promise<HeldEngine> {
    if (this.closed) throw new EngineError('unavailable', 'the engine is shutting down');
    this.loading ??= this.start();
    return this.loading;
  }

  private async start(): Promise<HeldEngine> {
    const { load, onStatus } = this.options;
    onStatus({ state: 'loading', message: 'starting' });
    this.failed = false;
    try {
      const engine = await load((message) => onStatus({ state: 'loading', message }));
      this.engine = engine;
      this.tellReady(engine);
      return engine;
    } catch (error) {
      this.failed = true;
      const code = error instanceof EngineError ? error.code : 'internal';
      const message = error instanceof Error ? error.message : String(error);
      onStatus({ state: 'failed', code, message });
      throw error;
    }
  }

  private rest(): void {
    if (!this.engine || this.closed) return;
    this.tellReady(this.engine);
    this.restartIdleTimer();
  }

  private tellReady(engine: HeldEngine): void {
    const memoryBytes = process.memoryUsage.rss();
    this.options.onStatus({ state: 'ready', engine: summaryOf(engine), memoryBytes });
  }

  private restartIdleTimer(): void {
    clearTimeout(this.idleTimer);
    if (this.options.idleMs <= 0 || this.users > 0) return;
    this.idleTimer = setTimeout(() => {
      this.unload().catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        this.options.onStatus({ state: 'failed', code: 'internal', message });
      });
    }, this.options.idleMs);
    this.idleTimer.unref();
  }
}

/** What the host may know; the engine's own information has more. */
function summaryOf({ info }: HeldEngine): EngineSummary {
  return {
    model: info.model,
    title: info.title,
    modelDir: info.modelDir,
    backend: info.backend,
    backendDescription: info.backendDescription,
    fallbackReason: info.fallbackReason,
    contextLength: info.contextLength,
    threads: info.threads,
    loadMs: info.loadMs,
    hasFim: info.hasFim,
    hasChatTemplate: info.hasChatTemplate,
  };
}
