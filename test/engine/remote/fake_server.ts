/** A server made of a table of answers, which remembers what it was asked. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

export type Answer = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export class FakeServer {
  readonly asked: Asked[] = [];
  /** Streams that the client closed before their end. */
  aborted = 0;
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** By `METHOD /path`; others are 404. */
  static async start(answers: Readonly<Record<string, Answer>>): Promise<FakeServer> {
    const server = createServer(
      (request, response) => void fake.answer(request, response, answers),
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const { port } = server.address() as AddressInfo;
    const fake = new FakeServer(server, `http://127.0.0.1:${port}`);
    return fake;
  }

  /** What was asked of a path. */
  of(path: string): Asked[] {
    return this.asked.filter((asked) => asked.path === path);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private async answer(
    request: IncomingMessage,
    response: ServerResponse,
    answers: Readonly<Record<string, Answer>>,
  ): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { url: path = '', method, headers } = request;
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const asked = { path, authorization: headers.authorization, body };
    this.asked.push(asked);
    response.on('close', () => (this.aborted += +!response.writableEnded));
    const answer = answers[`${method} ${path}`];
    await (answer ?? json(404, { error: { message: 'no such path' } }))(response, asked);
  }
}

export function json(status: number, value: unknown): Answer {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  };
}

/** Server-sent events, each in two pieces, with a break in the middle of a character if there is one. */
export function events(values: readonly unknown[], end = true): Answer {
  return async (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const value of [...values, ...(end ? ['[DONE]'] : [])]) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const bytes = Buffer.from(`data: ${text}\n\n`);
      const middle = bytes.findIndex((byte) => byte > 0x7f) + 1 || 9;
      response.write(bytes.subarray(0, middle));
      await new Promise(setImmediate);
      if (response.destroyed) return;
      response.write(bytes.subarray(middle));
    }
    response.end();
  };
}

export const models = (...ids: string[]): Answer =>
  json(200, { object: 'list', data: ids.map((id) => ({ id, object: 'model' })) });
