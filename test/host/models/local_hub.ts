/** A Hugging Face hub on this machine, with the faults of the real network on demand. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const REVISION = '0123456789abcdef0123456789abcdef01234567';

/** What goes wrong; each is used up by one request for a file, but `status`, which stays. */
export interface Faults {
  /** Breaks the connection after so many bytes of an answer that has more. */
  breakAfter: number[];
  /** Answers every request with it. */
  status: number | null;
  /** Header of such an answer, seconds. */
  retryAfter: string | null;
  /** Sends so much and then waits for ever; used up by one request for a file. */
  stallAfter: number | null;
  /** Answers with a page in place of a file. */
  html: boolean;
  /** Sends the whole file, whatever range was asked for. */
  ignoreRange: boolean;
  /** Flips a byte. */
  corrupt: boolean;
  /** Sends requests for files elsewhere: a whole address, or an origin, to which the path is added. */
  redirectTo: string | null;
}

export class LocalHub {
  readonly faults: Faults = {
    breakAfter: [],
    status: null,
    retryAfter: null,
    stallAfter: null,
    html: false,
    ignoreRange: false,
    corrupt: false,
    redirectTo: null,
  };
  readonly requests: { path: string; search: string; range: string; authorization: string }[] = [];
  /** What a search finds, as the hub's API gives it. */
  listed: unknown = [];
  private readonly server = createServer((request, response) => this.answer(request, response));

  constructor(
    private readonly name: string,
    private readonly files: Readonly<Record<string, Buffer>>,
  ) {}

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, search } = new URL(request.url ?? '', 'http://hub');
    const path = decodeURIComponent(pathname);
    const { range = '', authorization = '' } = request.headers;
    this.requests.push({ path, search, range, authorization });
    if (this.faults.status !== null) {
      const { retryAfter } = this.faults;
      response.writeHead(this.faults.status, {
        'content-type': 'application/json',
        ...(retryAfter !== null && { 'retry-after': retryAfter }),
      });
      response.end('{"error":"as asked for"}');
    } else if (path === '/api/models') {
      sendJson(response, this.listed);
    } else if (
      path === `/api/models/${this.name}` ||
      path === `/api/models/${this.name}/revision/HEAD`
    ) {
      const license = 'apache-2.0';
      sendJson(response, {
        _id: 'x',
        id: this.name,
        private: false,
        gated: false,
        downloads: 1,
        likes: 1,
        lastModified: '2026-01-01T00:00:00.000Z',
        sha: REVISION,
        cardData: { license },
      });
    } else if (path.startsWith(`/api/models/${this.name}/tree/`)) {
      sendJson(response, Object.entries(this.files).map(entryOf));
    } else if (this.faults.redirectTo !== null) {
      const { redirectTo: to } = this.faults;
      const location = /^\w+:\/\/[^/]+$/.test(to) ? to + pathname : to;
      response.writeHead(302, { location }).end();
    } else {
      const file = path.split(`/resolve/${REVISION}/`)[1] ?? '';
      this.sendFile(response, this.files[file], range);
    }
  }

  private sendFile(response: ServerResponse, file: Buffer | undefined, range: string): void {
    const { faults } = this;
    if (!file) return void response.writeHead(404).end();
    if (faults.html) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      return void response.end('<html>Please log in</html>');
    }
    const start = faults.ignoreRange ? 0 : Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
    const body = Buffer.from(file.subarray(start));
    if (faults.corrupt && body.length > 0) body[0] = (body[0] ?? 0) ^ 1;
    response.writeHead(start > 0 ? 206 : 200, {
      'content-type': 'application/octet-stream',
      'content-length': body.length,
    });
    if (faults.stallAfter !== null && faults.stallAfter < body.length) {
      response.write(body.subarray(0, faults.stallAfter));
      faults.stallAfter = null;
      return;
    }
    const [limit = body.length] = faults.breakAfter;
    if (limit >= body.length) return void response.end(body);
    faults.breakAfter.shift();
    response.write(body.subarray(0, limit), () => setTimeout(() => response.destroy(), 20));
  }
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** Large files are in LFS, with their checksum. */
function entryOf([path, data]: [string, Buffer]): object {
  const blob = createHash('sha1').update(`blob ${data.length}\0`).update(data);
  const plain = { type: 'file', path, size: data.length, oid: blob.digest('hex') };
  if (data.length < 1000) return plain;
  const oid = createHash('sha256').update(data).digest('hex');
  return { ...plain, lfs: { oid, size: data.length, pointerSize: 130 } };
}
