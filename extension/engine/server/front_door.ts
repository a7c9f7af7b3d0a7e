import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from './errors';
import { MAX_BODY_BYTES } from './limits';

export interface FrontDoorOptions {
  readonly token: string;
  /** The port that the server listens on. */
  readonly port: number;
  /** Names, beside the loopback ones, that requests may call this host by; lower case. */
  readonly hosts: ReadonlySet<string>;
  /** Any IP address is a good name too: a server that listens on several of them. */
  readonly anyAddress: boolean;
  /** Web pages that may use the server; exact. */
  readonly origins: ReadonlySet<string>;
}

/** Whoever asks: it tells only that the server is there. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/health']);
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];
const JSON_TYPE = /^application\/json\s*(;\s*charset=utf-8\s*)?$/i;

/**
 * What every request must pass before it is routed and before its body is read, so that no page in a browser and no
 * rebound name reaches a handler. Throws an ApiError; the connection is to be closed then.
 */
export function checkFrontDoor(request: IncomingMessage, options: FrontDoorOptions): void {
  checkTarget(request);
  checkHost(request, options);
  const isAllowedOrigin = checkOrigin(request, options);
  if (isAllowedOrigin && isPreflight(request)) return;
  if (!PUBLIC_PATHS.has(pathOf(request))) checkToken(request, options.token);
  if (request.method === 'POST') checkBodyHeaders(request);
}

export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** The path without the query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

function checkTarget(request: IncomingMessage): void {
  const { httpVersion, url = '' } = request;
  if (httpVersion !== '1.1') {
    throw new ApiError(505, 'http_version', `HTTP/${httpVersion}: expected HTTP/1.1`, {
      headers: { 'x-should-retry': 'false' },
    });
  }
  if (!url.startsWith('/') || url.startsWith('//')) {
    throw new ApiError(
      400,
      'absolute_target',
      'the request target must be a path, such as /v1/models',
    );
  }
  let path: string;
  try {
    path = decodeURIComponent(pathOf(request));
  } catch (cause) {
    throw new ApiError(400, 'bad_path', 'the path has a broken % escape', { cause });
  }
  if (path.includes('\0')) throw new ApiError(400, 'bad_path', 'the path has a NUL');
}

function checkHost(request: IncomingMessage, { hosts, port, anyAddress }: FrontDoorOptions): void {
  const names = rawValues(request, 'host');
  if (names.length !== 1) {
    throw new ApiError(400, 'bad_host', `${names.length} Host headers: expected one`);
  }
  const given = (names[0] ?? '').toLowerCase();
  const suffix = `:${port}`;
  const name = given.endsWith(suffix) ? given.slice(0, -suffix.length) : null;
  if (name !== null) {
    if (LOOPBACK.includes(name) || hosts.has(name)) return;
    if (anyAddress && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return;
  }
  const example = `127.0.0.1:${port}`;
  throw new ApiError(403, 'bad_host', `Host ${quote(given)}: this server is called ${example}`);
}

/** Whether the request comes from an allowed page; throws when it comes from another one. */
function checkOrigin(request: IncomingMessage, { origins }: FrontDoorOptions): boolean {
  const values = rawValues(request, 'origin');
  const [origin] = values;
  if (origin !== undefined) {
    if (values.length === 1 && origins.has(origin)) return true;
    throw new ApiError(
      403,
      'bad_origin',
      `Origin ${quote(origin)}: web pages may not use this server unless it was started with their origin`,
    );
  }
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'none' && site !== 'same-origin') {
    throw new ApiError(
      403,
      'cross_site',
      `Sec-Fetch-Site ${quote(String(site))}: not from a web page`,
    );
  }
  return false;
}

/** `Authorization: Bearer TOKEN`, or Anthropic's `x-api-key: TOKEN`. */
function checkToken(request: IncomingMessage, token: string): void {
  const bearers = rawValues(request, 'authorization');
  const keys = rawValues(request, 'x-api-key');
  if (bearers.length > 1 || keys.length > 1) {
    throw new ApiError(
      400,
      'duplicate_authorization',
      'more than one Authorization or x-api-key header',
    );
  }
  const given = [/^Bearer ([\x21-\x7e]{1,512})$/.exec(bearers[0] ?? '')?.[1], keys[0]];
  const presented = given.filter((value) => value !== undefined);
  const isGood = presented.map((value) => equalSecrets(value, token));
  if (isGood.length > 0 && isGood.every(Boolean)) return;
  const isMissing = bearers.length + keys.length === 0;
  throw new ApiError(
    401,
    'invalid_api_key',
    isMissing
      ? 'no API key: send "Authorization: Bearer TOKEN" with the token that the server showed when it started'
      : 'wrong API key: expected the token that the server showed when it started',
    { headers: { 'www-authenticate': 'Bearer' } },
  );
}

/** Takes as long for a nearly right secret as for a wrong one. */
function equalSecrets(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function checkBodyHeaders({ headers }: IncomingMessage): void {
  // A page can send other types without asking the browser's user first.
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    const type = quote(headers['content-type'] ?? '');
    throw new ApiError(415, 'content_type', `Content-Type ${type}: expected application/json`);
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ApiError(415, 'content_encoding', 'compressed bodies are not read; send plain JSON');
  }
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw bodyTooLarge();
}

export function bodyTooLarge(): ApiError {
  return new ApiError(413, 'too_large', `the body is larger than ${MAX_BODY_BYTES} bytes`);
}

/** All values of a header as they came: Node itself keeps the first of two and drops the other. */
function rawValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '');
  }
  return values;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 97)}...` : text);
}
