import type { ServerAddress, ServerRequest } from '../../protocol/server';
import { EngineError } from '../errors';
import type { ServedModel, ServerEngine } from '../server/engine';
import { modelIds } from '../server/model_id';
import { HttpServer, type ServerOptions } from '../server/server';
import { packageVersion } from '../server/version';
import type { EngineHolder, HeldEngine } from './holder';

/** A model of the child, and what it was named by. */
export interface NamedHolder {
  readonly name: string;
  readonly holder: EngineHolder;
}

/** The OpenAI-compatible server of the child: the same models and the same scheduler as completion and chat. */
export class ChildServer {
  private server: HttpServer | null = null;

  constructor(private readonly log: ServerOptions['log']) {}

  /** Starts it, or starts it anew. Rejects with bad_request or unavailable. */
  async start(request: ServerRequest, holders: readonly NamedHolder[]): Promise<ServerAddress> {
    await this.stop();
    const ids = modelIds(holders.map(({ name }) => name));
    const { publicPort, token, origins } = request;
    this.server = await HttpServer.start({
      models: holders.map(({ holder }, i) => served(holder, ids[i] ?? 'model')),
      token,
      port: 0,
      publicPort,
      origins,
      version: packageVersion(),
      log: this.log,
    });
    return { port: this.server.port, models: ids };
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    await server?.close();
  }
}

function served(holder: EngineHolder, id: string): ServedModel {
  return {
    id,
    created: Math.floor(Date.now() / 1000),
    get state() {
      return holder.state;
    },
    get loaded() {
      return holder.loaded?.local ?? null;
    },
    use: (task) => holder.use((held) => task(localOf(held))),
  };
}

function localOf({ local }: HeldEngine): ServerEngine {
  if (local !== null) return local;
  throw new EngineError('unsupported', 'the model runs on another server; ask that one');
}
