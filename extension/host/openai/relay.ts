import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import * as l10n from '@vscode/l10n';
import { ProtocolError } from '../../protocol/errors';
import { MAX_CONNECTIONS } from '../../protocol/server';
import { ResponseTracker } from './response_tracker';

/** A client that does not read its last words for so long is cut off. */
const FAREWELL_MS = 2000;
/** Seconds after which a client may try again: a new process is there by then. */
const RETRY_AFTER = 2;

const GONE = 'the engine has stopped; it is being started again';

/**
 * The port that clients know. It stays when the engine's process goes: bytes pass unchanged to the server of the process
 * that lives now, which checks them; answers that a dead one leaves unfinished end with an error, and whoever asks while
 * there is none is told to come again.
 */
export class Relay {
  /** Port of the server behind; null: there is none. */
  target: number | null = null;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.maxConnections = MAX_CONNECTIONS;
    server.on('connection', (client) => this.serve(client));
  }

  /** Listens on 127.0.0.1; a port that is taken, or not allowed, is replaced by a free one. */
  static async listen(port: number): Promise<Relay> {
    const server = createServer({ noDelay: true });
    try {
      await listenOn(server, port).catch((error: unknown) => {
        if (port === 0) throw error;
        return listenOn(server, 0);
      });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? String(error);
      throw new ProtocolError(
        'unavailable',
        l10n.t('cannot listen on 127.0.0.1: {code}', { code }),
      );
    }
    // Errors later on are of single connections.
    server.on('error', () => undefined);
    return new Relay(server);
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Cuts off whoever is connected, and frees the port. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private serve(client: Socket): void {
    this.keep(client);
    if (this.target === null) {
      client.once('data', () => farewell(client, refusal()));
      return;
    }
    const upstream = this.keep(connect({ port: this.target, host: '127.0.0.1', noDelay: true }));
    const tracker = new ResponseTracker();
    let isAsking = false;
    let path = '';
    client.on('data', (data) => {
      if (!isAsking) path = /^[A-Z]+ ([^\s?]*)/.exec(data.toString('latin1', 0, 256))?.[1] ?? '';
      isAsking = true;
    });
    upstream.on('data', (data) => {
      tracker.push(data);
      if (tracker.state === 'none') isAsking = false;
    });
    client.pipe(upstream);
    upstream.pipe(client, { end: false });
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => {
      const { state } = tracker;
      if (state === 'partial') client.destroy();
      else if (state === 'stream') farewell(client, lastEvent(path));
      else if (state === 'none' && isAsking) farewell(client, refusal());
      else farewell(client, '');
    });
  }

  private keep(socket: Socket): Socket {
    this.sockets.add(socket);
    // What an error means, the end of the connection says.
    socket.on('error', () => undefined);
    socket.once('close', () => this.sockets.delete(socket));
    return socket;
  }
}

/** Last bytes for a client, which has a moment to read them. */
function farewell(client: Socket, text: string): void {
  if (client.destroyed) return;
  const timer = setTimeout(() => client.destroy(), FAREWELL_MS);
  client.once('close', () => clearTimeout(timer));
  client.resume();
  client.end(text);
}

/** An answer of its own to a request that nobody serves. */
function refusal(): string {
  const error = { message: GONE, type: 'unavailable_error', param: null, code: 'engine_crashed' };
  const body = JSON.stringify({ error });
  return [
    'HTTP/1.1 503 Service Unavailable',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `retry-after: ${RETRY_AFTER}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

/** The end of a stream that broke off, in the words of its API. */
function lastEvent(path: string): string {
  const words = { message: GONE, param: null, code: 'engine_crashed' };
  const event = path.startsWith('/v1/messages')
    ? `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', ...words } })}\n\n`
    : `data: ${JSON.stringify({ error: { ...words, type: 'server_error' } })}\n\ndata: [DONE]\n\n`;
  return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n0\r\n\r\n`;
}

function listenOn(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
