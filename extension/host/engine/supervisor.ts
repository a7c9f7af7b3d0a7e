import * as l10n from '@vscode/l10n';
import type { ChatRequest, ChatResult } from '../../protocol/chat';
import type { CompletionRequest, CompletionResult } from '../../protocol/completion';
import type { ClearedCache, EngineStatus, EngineSummary, LogEntry } from '../../protocol/engine';
import type { Families, InstalledModel } from '../../protocol/models';
import { ProtocolError } from '../../protocol/errors';
import { number } from '../../protocol/numbers';
import type { ServerAddress, ServerRequest } from '../../protocol/server';
import { Emitter } from '../lifecycle';
import { Backoff } from './backoff';
import type { CallOptions, EngineLink, LinkEvents, StartEngine } from './link';

/** The engine as the host sees it: what the child says, and what only the host can know. */
export type SupervisedStatus =
  | EngineStatus
  /** No process; one is started with the next request. */
  | { readonly state: 'stopped' }
  | { readonly state: 'crashed'; readonly message: string; readonly waitMs: number };

export interface SupervisorOptions {
  readonly start: StartEngine;
  readonly log: (entry: LogEntry) => void;
  /** Milliseconds; for tests. */
  readonly now?: () => number;
}

/** Keeps one engine process: starts it on the first request, again after a crash, and ends it with the window. */
export class EngineSupervisor {
  private link: EngineLink | null = null;
  private starting: Promise<EngineLink> | null = null;
  /** Raised by every stop: events of an older process are not ours. */
  private generation = 0;
  private closed = false;
  private readonly backoff = new Backoff();
  private readonly changed = new Emitter<SupervisedStatus>();
  private readonly chatChanged = new Emitter<SupervisedStatus>();
  private current: SupervisedStatus = { state: 'stopped' };
  private currentChat: SupervisedStatus = { state: 'stopped' };
  /** Processes started so far. */
  starts = 0;

  constructor(private readonly options: SupervisorOptions) {}

  readonly onStatus = this.changed.event;

  readonly onChatStatus = this.chatChanged.event;

  /** Of the completion model. */
  get status(): SupervisedStatus {
    return this.current;
  }

  /** Of the chat model. */
  get chatStatus(): SupervisedStatus {
    return this.currentChat;
  }

  /** Of the running process. */
  get pid(): number | undefined {
    return this.link?.pid;
  }

  /** Rejects with a ProtocolError: 'unavailable' while a crashed engine waits, or when it ends before it answers. */
  async complete(
    request: CompletionRequest,
    options: CallOptions<'complete'>,
  ): Promise<CompletionResult> {
    const link = await this.ensure();
    return link.call('complete', request, options);
  }

  /**
   * Rejects as `complete` does; with 'unsupported' when no chat model is set or it cannot chat. A question whose answer has
   * not begun is asked again when `stop`, after a changed setting, ends the process under it.
   */
  async chat(request: ChatRequest, options: CallOptions<'chat'>): Promise<ChatResult> {
    const { generation } = this;
    let hasBegun = false;
    const onPartial: typeof options.onPartial = (part) => {
      hasBegun = true;
      options.onPartial?.(part);
    };
    const ask = async () => (await this.ensure()).call('chat', request, { ...options, onPartial });
    try {
      return await ask();
    } catch (error) {
      const isStopped = generation !== this.generation && !this.closed;
      const wasLost = error instanceof ProtocolError && error.code === 'unavailable';
      if (!isStopped || !wasLost || hasBegun) throw error;
      return ask();
    }
  }

  /** Tokens of each text, by the chat model's tokenizer. */
  async countTokens(texts: readonly string[]): Promise<readonly number[]> {
    const link = await this.ensure();
    return (await link.call('countTokens', { texts })).counts;
  }

  /** Starts the process if need be and loads the chat model, also after a failed load. */
  async loadChat(): Promise<EngineSummary> {
    const link = await this.ensure();
    return link.call('loadChat', null);
  }

  /** Starts the process if need be and loads the model, also after a failed load. */
  async load(): Promise<void> {
    const link = await this.ensure();
    await link.call('load', null);
  }

  /** The embedded model, what is in the folder of downloads, and what other programs keep on this computer. */
  async listModels(downloads: string): Promise<readonly InstalledModel[]> {
    const link = await this.ensure();
    return link.call('listModels', { downloads });
  }

  /** What is at a path: a folder, or a GGUF file. */
  async inspectModel(path: string): Promise<InstalledModel> {
    const link = await this.ensure();
    return link.call('inspectModel', { path });
  }

  /** What the engine can load. */
  async families(): Promise<Families> {
    const link = await this.ensure();
    return link.call('families', null);
  }

  /** Starts the OpenAI-compatible server of the process, and the process if need be. */
  async startServer(request: ServerRequest): Promise<ServerAddress> {
    const link = await this.ensure();
    return link.call('startServer', request);
  }

  async stopServer(): Promise<void> {
    await this.link?.call('stopServer', null);
  }

  /** Removes packed weights and kept conversations from the disk; a loaded model goes on. */
  async clearCache(): Promise<ClearedCache> {
    const link = await this.ensure();
    return link.call('clearCache', null);
  }

  /** Removes what the engine keeps on disk of all conversations. */
  async forgetConversations(): Promise<void> {
    const link = await this.ensure();
    await link.call('forgetConversations', null);
  }

  /** Frees the models' memory; the process stays. */
  async unload(): Promise<void> {
    await this.link?.call('unload', null);
  }

  /** Ends the process. The next request starts another one, without waiting for the back-off. */
  async stop(): Promise<void> {
    const link = this.link ?? (await this.starting?.catch(() => null));
    this.generation++;
    this.link = null;
    this.starting = null;
    this.backoff.reset();
    this.set({ state: 'stopped' });
    this.setChat({ state: 'stopped' });
    await link?.stop();
  }

  /** Ends the process for good. */
  close(): Promise<void> {
    this.closed = true;
    return this.stop();
  }

  private async ensure(): Promise<EngineLink> {
    if (this.closed) throw new ProtocolError('unavailable', l10n.t('the window is closing'));
    if (this.link) return this.link;
    const waitMs = this.backoff.wait(this.now());
    if (!this.starting && waitMs > 0) {
      const seconds = number(waitMs / 1000, 1);
      throw new ProtocolError(
        'unavailable',
        l10n.t('the engine crashed; it can start again in {seconds} s', { seconds }),
      );
    }
    this.starting ??= this.start();
    return this.starting;
  }

  private async start(): Promise<EngineLink> {
    const generation = this.generation;
    this.starts++;
    this.backoff.started(this.now());
    try {
      const link = await this.options.start(this.events(generation));
      if (generation !== this.generation) {
        void link.stop();
        throw new ProtocolError('unavailable', l10n.t('the engine was stopped while it started'));
      }
      this.link = link;
      this.options.log({ level: 'info', message: `engine process ${link.pid} started` });
      return link;
    } catch (error) {
      if (generation === this.generation) this.crashed(messageOf(error));
      throw error;
    } finally {
      if (generation === this.generation) this.starting = null;
    }
  }

  private events(generation: number): LinkEvents {
    const current = (): boolean => generation === this.generation;
    return {
      onStatus: (status) => current() && this.set(status),
      onChatStatus: (status) => current() && this.setChat(status),
      onLog: this.options.log,
      onExit: (how) =>
        current() && this.crashed(l10n.t('the engine process ended ({how})', { how })),
    };
  }

  private crashed(message: string): void {
    this.link = null;
    const now = this.now();
    this.backoff.crashed(now);
    const waitMs = this.backoff.wait(now);
    this.options.log({ level: 'error', message });
    this.set({ state: 'crashed', message, waitMs });
    this.setChat({ state: 'crashed', message, waitMs });
  }

  private set(status: SupervisedStatus): void {
    this.current = status;
    this.changed.fire(status);
  }

  private setChat(status: SupervisedStatus): void {
    this.currentChat = status;
    this.chatChanged.fire(status);
  }

  private now(): number {
    return this.options.now?.() ?? performance.now();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
