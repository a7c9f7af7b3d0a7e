/** A server on a free port, and ways to talk to it. */
import { connect } from 'node:net';
import type { ServedModel } from '../../../extension/engine/server/engine';
import { HttpServer, type ServerOptions } from '../../../extension/engine/server/server';

export const TOKEN = 'test-token-0123456789abcdef';

export interface Lab {
  readonly server: HttpServer;
  readonly log: string[];
  readonly base: string;
  fetch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Bytes on a socket; resolves with all that comes back until the server closes, or nothing comes for a while. */
  raw(request: string | Buffer, quietMs?: number): Promise<string>;
}

export async function startLab(
  models: readonly ServedModel[],
  options: Partial<ServerOptions> = {},
): Promise<Lab> {
  const log: string[] = [];
  const server = await HttpServer.start({
    models,
    token: TOKEN,
    port: 0,
    version: '0.0.0-test',
    log: (level, message) => log.push(`${level} ${message}`),
    ...options,
  });
  const base = `http://127.0.0.1:${server.port}`;
  return {
    server,
    log,
    base,
    fetch: (path, body, headers = {}) =>
      fetch(`${base}${path}`, {
        ...(body === undefined ? {} : { method: 'POST', body: bodyOf(body) }),
        headers: {
          authorization: `Bearer ${TOKEN}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      }),
    raw: (request, quietMs = 300) => rawExchange(server.port, request, quietMs),
  };
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function rawExchange(port: number, request: string | Buffer, quietMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    let timer = setTimeout(() => socket.destroy(), 5000);
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), quietMs);
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(request);
  });
}

/** The events of a stream as JSON, `[DONE]` and comments left out. */
export function eventsOf(text: string): unknown[] {
  return text
    .split('\n\n')
    .flatMap((block) => /^data: (.*)$/m.exec(block)?.slice(1) ?? [])
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as unknown);
}
