import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { MAX_CONNECTIONS } from '../../protocol/server';
import { EngineError } from '../errors';
import { accessLine } from './access_log';
import { createApp } from './app';
import { Call, type ServerState } from './call';
import { allowOrigin } from './cors';
import type { ServedModel } from './engine';
import { asApiError, errorBody, unavailable, type ApiError } from './errors';
import { checkFrontDoor, isPreflight, pathOf } from './front_door';
import { readJson } from './json_body';
import { TIMEOUTS, type Timeouts } from './limits';
import { ServerMetrics } from './metrics';
import { ModelList } from './models';
import { ROUTES } from './routes';

export interface ServerOptions {
  readonly models: readonly ServedModel[];
  readonly token: string;
  /** An address of this machine; default: 127.0.0.1, which no other machine reaches. */
  readonly host?: string;
  /** 0 = a free one. One that is taken is replaced by a free one. */
  readonly port: number;
  /** The port that clients see, when something of ours stands between; default: the server's own. */
  readonly publicPort?: number;
  /** Names that requests may call this host by, beside the loopback ones. */
  readonly hostNames?: readonly string[];
  /** Web pages that may use the server. */
  readonly origins?: readonly string[];
  readonly version: string;
  readonly log: ServerState['log'];
  /** For tests. */
  readonly timeouts?: Partial<Timeouts>;
}

/** Not that of any other local server that is known. */
export const DEFAULT_PORT = 8642;
/** A guessable token is no protection; ours have 43 characters. */
const MIN_TOKEN_LENGTH = 16;
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
/** Streams that have been told to end do so within this time, or are cut off. */
const CLOSE_MS = 2000;

/** The HTTP server: listens, lets requests through the front door, and hands them to the routes. */
export class HttpServer {
  /** Aborted when the server closes. */
  private readonly closing = new AbortController();
  private readonly app = createApp();
  private readonly state: ServerState;
  private readonly http: Server;
  private readonly calls = new WeakMap<IncomingMessage, Call>();
  private readonly route: ReturnType<typeof getRequestListener>;

  private constructor(private readonly options: ServerOptions) {
    const timeouts = { ...TIMEOUTS, ...options.timeouts };
    const { log, version, models } = options;
    this.state = {
      models: new ModelList(models, timeouts.loadMs),
      metrics: new ServerMetrics(),
      timeouts,
      version,
      log,
      activeChoices: 0,
    };
    this.http = createServer({
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      connectionsCheckingInterval: Math.min(1000, timeouts.headersMs),
    });
    this.http.maxConnections = MAX_CONNECTIONS;
    this.route = getRequestListener(
      (request, { incoming }) =>
        this.app.fetch(request, { call: this.calls.get(incoming as IncomingMessage) }),
      { overrideGlobalObjects: false },
    );
    const listen = (request: IncomingMessage, response: ServerResponse) =>
      void this.handle(request, response);
    this.http.on('request', listen);
    // Without this, Node asks for the body of a request that will be refused.
    this.http.on('checkContinue', listen);
  }

  /** Rejects with bad_request when the options are not safe, unavailable when the address cannot be listened on. */
  static async start(options: ServerOptions): Promise<HttpServer> {
    if (options.token.length < MIN_TOKEN_LENGTH || !/^[\x21-\x7e]{1,512}$/.test(options.token)) {
      throw new EngineError(
        'bad_request',
        `token of ${options.token.length} characters: expected ${MIN_TOKEN_LENGTH} to 512 printable ones without blanks`,
      );
    }
    const server = new HttpServer(options);
    await server.listen();
    return server;
  }

  get port(): number {
    return (this.http.address() as AddressInfo | null)?.port ?? 0;
  }

  /** What clients take as their base URL. */
  get url(): string {
    const { host = '127.0.0.1' } = this.options;
    const name = WILDCARDS.has(host) ? '127.0.0.1' : host;
    return `http://${name.includes(':') ? `[${name}]` : name}:${this.port}/v1`;
  }

  /** Answers under way. */
  get activeChoices(): number {
    return this.state.activeChoices;
  }

  /** Ends all answers, tells their clients, and frees the port. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.http.close(resolve));
    this.closing.abort();
    this.http.closeIdleConnections();
    const cut = setTimeout(() => this.http.closeAllConnections(), CLOSE_MS);
    await closed;
    clearTimeout(cut);
  }

  private async listen(): Promise<void> {
    const { host = '127.0.0.1', port } = this.options;
    try {
      await listenOn(this.http, host, port);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (port === 0 || (code !== 'EADDRINUSE' && code !== 'EACCES')) {
        throw new EngineError('unavailable', `cannot listen on ${host}: ${code}`, { cause: error });
      }
      await listenOn(this.http, host, 0);
      const why = code === 'EADDRINUSE' ? 'is taken' : 'is not allowed';
      this.state.log('warn', `port ${port} ${why}; listening on ${this.port} instead`);
    }
    // Errors of the listening socket later on are of single connections.
    this.http.on('error', (error) => this.state.log('error', `server: ${error.message}`));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, this.closing.signal]);
    const call = new Call(this.state, null, response, signal);
    response.once('close', () => {
      gone.abort();
      this.record(request, response, call);
    });
    response.on('error', () => undefined);
    response.setHeader('x-request-id', `req_${call.id}`);
    try {
      this.admit(request);
      allowOrigin(request, response);
      if (isPreflight(request)) {
        response.writeHead(204).end();
        return;
      }
      if (request.method === 'POST') {
        if (request.headers.expect !== undefined) response.writeContinue();
        call.body = await readJson(request);
      }
    } catch (error) {
      // The rest of such a request is not read; it must not be taken for the next one.
      refuse(response, asApiError(error), pathOf(request));
      return;
    }
    this.calls.set(request, call);
    await this.route(request, response);
  }

  private admit(request: IncomingMessage): void {
    const { token, host = '127.0.0.1', hostNames = [], origins = [], publicPort } = this.options;
    const isWildcard = WILDCARDS.has(host);
    const named = isWildcard ? hostNames : [...hostNames, host.includes(':') ? `[${host}]` : host];
    checkFrontDoor(request, {
      token,
      port: publicPort ?? this.port,
      hosts: new Set(named.map((name) => name.toLowerCase())),
      anyAddress: isWildcard,
      origins: new Set(origins),
    });
    if (this.closing.signal.aborted)
      throw unavailable('shutting_down', 'the server is shutting down');
  }

  private record(request: IncomingMessage, response: ServerResponse, call: Call): void {
    const { metrics, log } = this.state;
    const status = response.writableFinished ? String(response.statusCode) : 'closed';
    metrics.requests.add({ route: routeLabel(request), status });
    metrics.duration.observe((performance.now() - call.startedAt) / 1000);
    if (PUBLIC_NOISE.has(pathOf(request)) && response.statusCode < 400) return;
    log('info', accessLine(request, response, call));
  }
}

/** Asked every few seconds by whoever watches. */
const PUBLIC_NOISE: ReadonlySet<string> = new Set(['/health', '/metrics']);

const KNOWN_PATHS: ReadonlySet<string> = new Set(ROUTES.map(({ path }) => path));

/** Paths that do not exist share one label, so that nobody can fill the memory with labels. */
function routeLabel(request: IncomingMessage): string {
  const path = pathOf(request);
  if (path.startsWith('/v1/models/')) return '/v1/models/{id}';
  return KNOWN_PATHS.has(path) ? path : 'other';
}

function refuse(response: ServerResponse, error: ApiError, path: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  response.writeHead(error.status, {
    'content-type': 'application/json',
    ...error.headers,
    connection: 'close',
  });
  response.end(errorBody(error, path));
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
