import type { RemoteServer } from '../../protocol/engine';
import { EngineError } from '../errors';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** A server that says nothing for so long is taken as gone; a model may have to be loaded first. */
const ANSWER_WITHIN_MS = 120_000;
const PROBE_WITHIN_MS = 5_000;
const MAX_ERROR_CHARS = 300;

/** The HTTP side of one server. Everything that goes wrong is an EngineError that names the address. */
export class Endpoint {
  /** Without /v1 and without a slash at the end. */
  readonly base: string;

  constructor(private readonly settings: Pick<RemoteServer, 'url' | 'apiKey'>) {
    this.base = baseOf(settings.url);
  }

  /** The JSON answer of a short request. Throws EngineError unavailable, or bad_request for a 4xx. */
  async json(path: string, options: RequestOptions = {}): Promise<unknown> {
    const timeout = AbortSignal.timeout(PROBE_WITHIN_MS);
    const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
    const response = await this.fetch(path, { ...options, signal });
    try {
      return await response.json();
    } catch (cause) {
      throw new EngineError('unavailable', `${this.base}${path}: the answer is not JSON`, {
        cause,
      });
    }
  }

  /** The answer as it comes. */
  async stream(
    path: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), ANSWER_WITHIN_MS);
    try {
      const both = AbortSignal.any([signal, late.signal]);
      const { body: stream } = await this.fetch(path, { method: 'POST', body, signal: both });
      if (stream !== null) return stream;
      throw new EngineError('unavailable', `${this.base}${path}: the answer is empty`);
    } finally {
      clearTimeout(timer);
    }
  }

  private async fetch(
    path: string,
    { method = 'GET', body, signal }: RequestOptions,
  ): Promise<Response> {
    const { apiKey } = this.settings;
    let response: Response;
    try {
      response = await fetch(`${this.base}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...(apiKey === '' ? {} : { Authorization: `Bearer ${apiKey}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal ? { signal } : {}),
        // A key must not travel to another address.
        redirect: 'error',
      });
    } catch (cause) {
      throw this.unreachable(path, cause);
    }
    if (response.ok) return response;
    throw await this.refused(path, response);
  }

  private unreachable(path: string, cause: unknown): EngineError {
    if (cause instanceof Error && cause.name === 'AbortError')
      return new EngineError('cancelled', 'the request was cancelled', { cause });
    const reason =
      cause instanceof Error && cause.name === 'TimeoutError'
        ? 'no answer in time'
        : reasonOf(cause);
    return new EngineError(
      'unavailable',
      `${this.base}${path}: ${reason}; is the server running, and is anllm.remote.url right?`,
      { cause },
    );
  }

  private async refused(path: string, response: Response): Promise<EngineError> {
    const { status } = response;
    const text = await response.text().catch(() => '');
    const told = `${this.base}${path}: HTTP ${status}${detailOf(text)}`;
    if (status === 401 || status === 403) {
      const what =
        'the server wants another API key; set it with "anllm: Set API Key of the Remote Server"';
      return new EngineError('bad_request', `${told}; ${what}`);
    }
    const code = status === 404 ? 'unsupported' : status < 500 ? 'bad_request' : 'unavailable';
    return new EngineError(code, told);
  }
}

function baseOf(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw wrongUrl(url, cause);
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw wrongUrl(url);
  if (parsed.username !== '' || parsed.password !== '' || parsed.search !== '') throw wrongUrl(url);
  return `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '');
}

function wrongUrl(url: string, cause?: unknown): EngineError {
  return new EngineError(
    'bad_request',
    `anllm.remote.url ${JSON.stringify(url)}: expected an address like http://127.0.0.1:8080, without a user and a query`,
    { cause },
  );
}

/** fetch() hides what happened in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  if (code === 'ENOTFOUND') return 'there is no such host';
  return cause instanceof Error ? cause.message : error.message;
}

/** What OpenAI's, llama.cpp's or FastAPI's error bodies say, in one line. */
function detailOf(text: string): string {
  let detail = text;
  try {
    const body = JSON.parse(text) as { error?: unknown; message?: unknown; detail?: unknown };
    const error = body.error as { message?: unknown } | string | undefined;
    const inner = typeof error === 'object' ? error.message : error;
    const found = inner ?? body.message ?? body.detail;
    if (found !== undefined) detail = typeof found === 'string' ? found : JSON.stringify(found);
  } catch {
    // Not JSON: as it is.
  }
  const line = detail.replace(/\s+/g, ' ').trim().slice(0, MAX_ERROR_CHARS);
  return line === '' ? '' : `: ${line}`;
}
