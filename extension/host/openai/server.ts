import * as l10n from '@vscode/l10n';
import type { LogEntry } from '../../protocol/engine';
import { ProtocolError } from '../../protocol/errors';
import type { ServerAddress, ServerRequest } from '../../protocol/server';
import type { SupervisedStatus } from '../engine/supervisor';
import { Emitter, type Disposable } from '../lifecycle';
import type { Relay } from './relay';

/** Where clients find the server. */
export interface PublicAddress {
  readonly port: number;
  /** What clients take as their base URL. */
  readonly url: string;
  /** Names of the models. */
  readonly models: readonly string[];
}

/** What the server needs of the engine's supervisor. */
export interface ServerHost {
  readonly onStatus: (listener: (status: SupervisedStatus) => void) => Disposable;
  startServer(request: ServerRequest): Promise<ServerAddress>;
  stopServer(): Promise<void>;
}

export interface OpenAiServerOptions {
  readonly engine: ServerHost;
  readonly settings: () => { readonly port: number; readonly origins: readonly string[] };
  readonly token: () => Promise<string>;
  readonly log: (entry: LogEntry) => void;
  /** For tests. */
  readonly handoverMs?: number;
}

/** A process that was told to end frees its port within this time. */
const HANDOVER_MS = 500;

/**
 * The OpenAI-compatible server in the engine process: off until it is started, and started again with the process, behind
 * a port that stays.
 */
export class OpenAiServer implements Disposable {
  private wanted = false;
  private current: PublicAddress | null = null;
  /** Holds the port from the start to the stop, whichever process serves. */
  private relay: Relay | null = null;
  /** The start that is under way; a second one is the same. */
  private starting: Promise<PublicAddress> | null = null;
  private timer: NodeJS.Timeout | undefined;
  private readonly subscription: Disposable;
  private readonly changed = new Emitter<PublicAddress | null>();

  constructor(private readonly options: OpenAiServerOptions) {
    this.subscription = options.engine.onStatus((status) => this.follow(status));
  }

  readonly onChange = this.changed.event;

  /** Null while it is off, or its process is away. */
  get address(): PublicAddress | null {
    return this.current;
  }

  /** Starts it unless it runs. Rejects with a ProtocolError. */
  async start(): Promise<PublicAddress> {
    if (this.current !== null) return this.current;
    this.wanted = true;
    this.starting ??= this.open().finally(() => (this.starting = null));
    try {
      return await this.starting;
    } catch (error) {
      this.wanted = false;
      await this.closeRelay();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.wanted = false;
    clearTimeout(this.timer);
    // A start that is under way sees that nobody wants it any more.
    await this.starting?.catch(() => undefined);
    await this.closeRelay();
    if (this.current === null) return;
    this.set(null);
    await this.options.engine.stopServer();
    this.log('info', 'OpenAI server stopped');
  }

  dispose(): void {
    this.wanted = false;
    clearTimeout(this.timer);
    this.subscription.dispose();
    void this.closeRelay();
  }

  private async open(): Promise<PublicAddress> {
    const { engine, settings, token } = this.options;
    const { port, origins } = settings();
    const { Relay } = await import('./relay');
    const relay = (this.relay ??= await Relay.listen(port));
    const publicPort = relay.port;
    const behind = await engine.startServer({ publicPort, token: await token(), origins });
    if (!this.wanted) {
      await engine.stopServer();
      throw new ProtocolError('unavailable', l10n.t('the server was stopped while it started'));
    }
    relay.target = behind.port;
    const url = `http://127.0.0.1:${publicPort}/v1`;
    const address = { port: publicPort, url, models: behind.models };
    this.set(address);
    this.log('info', `OpenAI server for ${address.models.join(', ')} at ${url}`);
    return address;
  }

  private async closeRelay(): Promise<void> {
    const { relay } = this;
    this.relay = null;
    await relay?.close();
  }

  /** The process took the server with it: another one brings it back. */
  private follow(status: SupervisedStatus): void {
    if (status.state !== 'crashed' && status.state !== 'stopped') return;
    if (!this.wanted) return;
    if (this.relay !== null) this.relay.target = null;
    this.set(null);
    const handover = this.options.handoverMs ?? HANDOVER_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => this.reopen(),
      status.state === 'crashed' ? status.waitMs + 10 : handover,
    );
  }

  private reopen(): void {
    if (!this.wanted || this.current !== null) return;
    // A process that crashes again says so itself, and is followed again.
    this.open().catch((error: unknown) => {
      this.log('error', `OpenAI server: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  private set(address: PublicAddress | null): void {
    this.current = address;
    this.changed.fire(address);
  }

  private log(level: LogEntry['level'], message: string): void {
    this.options.log({ level, message });
  }
}
