import type { CancellationToken, MessageConnection } from 'vscode-jsonrpc/node';
import type { EngineSettings, EngineStatus } from '../../protocol/engine';
import { ProtocolError } from '../../protocol/errors';
import { handle, notify } from '../../protocol/peer';
import { PROTOCOL_VERSION } from '../../protocol/version';
import { supportedModelTypes } from '../core/models/registry';
import type { LoadEvents } from '../load_engine';
import { IMAGE_MODEL_TYPES, inspectModel, listModels } from '../loading/model_list';
import { ggufArchitectures } from '../loading/gguf/architectures';
import { ChildServer, type NamedHolder } from './child_server';
import { cacheFolder } from '../backend/packed_cache';
import { clearCaches, clearConversations } from '../cache/clear_caches';
import { EngineHolder, type HeldEngine } from './holder';

/** One model, and how it runs. */
export type ModelSettings = Pick<
  EngineSettings,
  | 'modelDir'
  | 'backend'
  | 'threads'
  | 'contextLength'
  | 'batchSize'
  | 'prefillStep'
  | 'sessionCache'
  | 'kvBits'
  | 'draftModelDir'
  | 'features'
  | 'remote'
>;

export type LoadModel = (settings: ModelSettings, events: LoadEvents) => Promise<HeldEngine>;

/** The holders of the two roles; one and the same where both have one model. */
interface Holders {
  readonly settings: EngineSettings;
  readonly completion: EngineHolder;
  readonly chat: EngineHolder | null;
}

export interface SessionOptions {
  readonly load: LoadModel;
  /** Ends the process; called after `shutdown` was answered. */
  readonly exit: () => void;
}

/** Answers the host's requests on one connection. */
export class Session {
  private holders: Holders | null = null;
  private readonly server = new ChildServer((level, message) =>
    notify(this.connection, 'log', { level, message: `server: ${message}` }),
  );

  constructor(
    private readonly connection: MessageConnection,
    private readonly options: SessionOptions,
  ) {
    handle(connection, 'hello', async ({ protocolVersion, settings }) => {
      if (protocolVersion !== PROTOCOL_VERSION) {
        throw new ProtocolError(
          'unavailable',
          `engine protocol ${PROTOCOL_VERSION}, extension protocol ${protocolVersion}: ` +
            'reload the window to start the engine of this version',
        );
      }
      this.holders = this.holdersFor(settings);
      return { protocolVersion: PROTOCOL_VERSION, pid: process.pid };
    });
    handle(connection, 'load', () => this.ready().completion.load());
    handle(connection, 'loadChat', () => this.chatHolder().load());
    handle(connection, 'chat', (request, { token, partial }) =>
      this.chatHolder().use((engine) =>
        engine.chat(request, { signal: signalOf(token), onPart: partial }),
      ),
    );
    handle(connection, 'countTokens', ({ texts }) =>
      this.chatHolder().use(async (engine) => ({ counts: await engine.countTokens(texts) })),
    );
    handle(connection, 'complete', (request, { token, partial }) =>
      this.ready().completion.use((engine) =>
        engine.complete(request, {
          signal: signalOf(token),
          onPartial: partial,
        }),
      ),
    );
    handle(connection, 'listModels', async ({ downloads }) =>
      listModels(supportedModelTypes(), downloads),
    );
    handle(connection, 'inspectModel', async ({ path }) =>
      inspectModel(path, supportedModelTypes()),
    );
    handle(connection, 'families', async () => ({
      modelTypes: [...supportedModelTypes(), ...IMAGE_MODEL_TYPES],
      ggufArchitectures: ggufArchitectures(),
    }));
    handle(connection, 'startServer', (request) =>
      this.server.start(request, servedHolders(this.ready())),
    );
    handle(connection, 'stopServer', async () => {
      await this.server.stop();
      return null;
    });
    handle(connection, 'clearCache', async () => {
      await this.forgetUnwritten();
      return clearCaches(cacheFolder());
    });
    handle(connection, 'forgetConversations', async () => {
      await this.forgetUnwritten();
      await clearConversations(cacheFolder());
      return null;
    });
    handle(connection, 'unload', async () => {
      const { completion, chat: chatting } = this.ready();
      await Promise.all([completion.unload(), chatting?.unload()]);
      return null;
    });
    handle(connection, 'shutdown', async () => {
      await this.close();
      // The answer is written before the process ends.
      setImmediate(() => this.options.exit());
      return null;
    });
  }

  /** Ends the server and the running generations, and frees the models. */
  async close(): Promise<void> {
    await this.server.stop();
    await Promise.all([this.holders?.completion.close(), this.holders?.chat?.close()]);
  }

  /** Models in memory write nothing of the conversations so far. */
  private async forgetUnwritten(): Promise<void> {
    await this.holders?.completion.loaded?.local?.forgetUnwritten();
    await this.holders?.chat?.loaded?.local?.forgetUnwritten();
  }

  private ready(): Holders {
    if (!this.holders)
      throw new ProtocolError('bad_request', 'expected hello as the first request');
    return this.holders;
  }

  private chatHolder(): EngineHolder {
    const holder = this.ready().chat;
    if (holder) return holder;
    throw new ProtocolError('unsupported', 'no chat model is set: choose one in anllm.chat.model');
  }

  private holdersFor(settings: EngineSettings): Holders {
    const { modelDir, contextLength, chatModelDir, chatContextLength } = settings;
    const tell = (topic: 'status' | 'chatStatus') => (status: EngineStatus) =>
      notify(this.connection, topic, status);
    if (chatModelDir === modelDir || settings.remote !== null) {
      const tellBoth = (status: EngineStatus): void => {
        tell('status')(status);
        tell('chatStatus')(status);
      };
      const longest = Math.max(contextLength, chatContextLength);
      const shared = this.holderFor({ ...settings, contextLength: longest }, tellBoth);
      return { settings, completion: shared, chat: shared };
    }
    const chatSettings = {
      ...settings,
      modelDir: chatModelDir,
      contextLength: chatContextLength,
    };
    return {
      settings,
      completion: this.holderFor({ ...settings, draftModelDir: '' }, tell('status')),
      chat: chatModelDir === '' ? null : this.holderFor(chatSettings, tell('chatStatus')),
    };
  }

  private holderFor(
    settings: EngineSettings,
    onStatus: (status: EngineStatus) => void,
  ): EngineHolder {
    const log = (level: 'info' | 'warn') => (message: string) =>
      notify(this.connection, 'log', { level, message });
    const holder = new EngineHolder({
      load: async (onProgress) => {
        const onFaster = (): void => {
          holder.renew().catch((error: unknown) => log('warn')(String(error)));
        };
        const events = { onProgress, onWarning: log('warn'), onFaster };
        const engine = await this.options.load(settings, events);
        const { title, backendDescription, contextLength, loadMs, fallbackReason } = engine.info;
        log('info')(
          `loaded ${title} in ${loadMs.toFixed(0)} ms: ${backendDescription}, ` +
            `${contextLength} tokens of context`,
        );
        if (fallbackReason !== null) log('warn')(fallbackReason);
        return engine;
      },
      idleMs: settings.idleMinutes * 60_000,
      onStatus,
    });
    return holder;
  }
}

/** The models that other programs may use. */
function servedHolders({ settings, completion, chat }: Holders): NamedHolder[] {
  if (settings.remote !== null) {
    throw new ProtocolError(
      'unsupported',
      `completions come from ${settings.remote.url}: give other programs that address, or clear anllm.remote.url`,
    );
  }
  const own = { name: settings.modelDir, holder: completion };
  if (chat === null || chat === completion) return [own];
  return [own, { name: settings.chatModelDir, holder: chat }];
}

function signalOf(token: CancellationToken): AbortSignal {
  const controller = new AbortController();
  if (token.isCancellationRequested) controller.abort();
  else token.onCancellationRequested(() => controller.abort());
  return controller.signal;
}
