import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { MAX_CONNECTIONS } from '../../../extension/protocol/server';
import { ROUTES } from '../../../extension/engine/server/routes';
import { HttpServer } from '../../../extension/engine/server/server';
import { until } from '../../until';
import { startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served } from './scripted';

const engine = new ScriptedEngine({ text: 'ok' });
let lab: Lab;
let host = '';

before(async () => {
  lab = await startLab([served(engine, 'toy')], {
    origins: ['http://localhost:3000'],
    timeouts: { headersMs: 700, requestMs: 900 },
  });
  host = `127.0.0.1:${lab.server.port}`;
});
after(() => lab.server.close());

const AUTH = `Authorization: Bearer ${TOKEN}`;
const JSON_TYPE = 'Content-Type: application/json';
const BODY = '{"model":"toy","prompt":"x"}';

function get(target: string, ...headers: string[]): string {
  return `GET ${target} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
}

function post(headers: readonly string[], body = BODY): string {
  const lines = [`Content-Length: ${body.length}`, ...headers].join('\r\n');
  return `POST /v1/completions HTTP/1.1\r\n${lines}\r\n\r\n${body}`;
}

interface Case {
  readonly name: string;
  /** `host` is the server's own name. */
  readonly send: (host: string) => string | Buffer;
  readonly status: number;
  readonly code?: string;
}

const models = (...headers: string[]) => get('/v1/models', ...headers);
const hostile = (name: string, value: string): Case => ({
  name: `Host ${name}`,
  send: () => models(`Host: ${value.replace('PORT', String(lab.server.port))}`, AUTH),
  status: 403,
  code: 'bad_host',
});
const wrongType = (type: string): Case => ({
  name: `a body of type ${type}`,
  send: (h) => post([`Host: ${h}`, AUTH, ...(type === '' ? [] : [`Content-Type: ${type}`])]),
  status: 415,
  code: 'content_type',
});

const CASES: readonly Case[] = [
  { name: 'a good request', send: (h) => models(`Host: ${h}`, AUTH), status: 200 },
  {
    name: 'localhost is a good name',
    send: () => models(`Host: localhost:${lab.server.port}`, AUTH),
    status: 200,
  },
  { name: 'no Host', send: () => models(AUTH), status: 400 },
  {
    name: 'two Hosts',
    send: (h) => models(`Host: ${h}`, 'Host: evil.example', AUTH),
    status: 400,
    code: 'bad_host',
  },
  hostile('of a rebound name', 'evil.example:PORT'),
  hostile('that begins like ours', '127.0.0.1.evil.example:PORT'),
  hostile('with a dot at its end', 'localhost.:PORT'),
  hostile('as a number', '2130706433:PORT'),
  hostile('as IPv4 in IPv6', '[::ffff:127.0.0.1]:PORT'),
  hostile('with another port', '127.0.0.1:1'),
  hostile('without a port', '127.0.0.1'),
  hostile('that is empty', ''),
  {
    name: 'an absolute target',
    send: (h) => get(`http://${h}/v1/models`, `Host: ${h}`, AUTH),
    status: 400,
    code: 'absolute_target',
  },
  {
    name: 'a target with two slashes',
    send: (h) => get('//evil/x', `Host: ${h}`, AUTH),
    status: 400,
    code: 'absolute_target',
  },
  {
    name: 'OPTIONS *',
    send: (h) => `OPTIONS * HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n\r\n`,
    status: 400,
    code: 'absolute_target',
  },
  {
    name: 'HTTP/1.0 without Host',
    send: () => `GET /v1/models HTTP/1.0\r\n${AUTH}\r\n\r\n`,
    status: 505,
  },
  {
    name: 'HTTP/1.0',
    send: (h) => `GET /v1/models HTTP/1.0\r\nHost: ${h}\r\n${AUTH}\r\n\r\n`,
    status: 505,
  },
  {
    name: 'Origin null',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Origin: null']),
    status: 403,
    code: 'bad_origin',
  },
  {
    name: 'a foreign Origin',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Origin: https://evil.example']),
    status: 403,
    code: 'bad_origin',
  },
  {
    name: 'an Origin that begins like an allowed one',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Origin: http://localhost:30001']),
    status: 403,
    code: 'bad_origin',
  },
  {
    name: 'a preflight of a foreign page',
    send: (h) =>
      `OPTIONS /v1/completions HTTP/1.1\r\nHost: ${h}\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Private-Network: true\r\n\r\n`,
    status: 403,
    code: 'bad_origin',
  },
  {
    name: 'an image on a page',
    send: (h) => models(`Host: ${h}`, AUTH, 'Sec-Fetch-Site: cross-site'),
    status: 403,
    code: 'cross_site',
  },
  wrongType('text/plain'),
  wrongType('application/x-www-form-urlencoded'),
  wrongType('multipart/form-data; boundary=x'),
  wrongType('text/plain; application/json'),
  wrongType(''),
  { name: 'no key', send: (h) => models(`Host: ${h}`), status: 401, code: 'invalid_api_key' },
  {
    name: 'a wrong key',
    send: (h) => models(`Host: ${h}`, 'Authorization: Bearer nope'),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'Basic',
    send: (h) => models(`Host: ${h}`, 'Authorization: Basic dTpw'),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'a key that is not ASCII',
    send: (h) => Buffer.from(models(`Host: ${h}`, 'Authorization: Bearer t\xe9'), 'latin1'),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'a key in the query',
    send: (h) => get(`/v1/models?api_key=${TOKEN}`, `Host: ${h}`),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'a long key',
    send: (h) => models(`Host: ${h}`, `Authorization: Bearer ${'k'.repeat(1 << 20)}`),
    status: 431,
  },
  {
    name: 'two keys, one of them good',
    send: (h) => models(`Host: ${h}`, AUTH, 'Authorization: Bearer nope'),
    status: 400,
    code: 'duplicate_authorization',
  },
  {
    name: 'a good and a bad key in different headers',
    send: (h) => models(`Host: ${h}`, AUTH, 'x-api-key: nope'),
    status: 401,
    code: 'invalid_api_key',
  },
  {
    name: 'length and chunks',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Transfer-Encoding: chunked']),
    status: 400,
  },
  {
    name: 'two lengths',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Content-Length: 5']),
    status: 400,
  },
  {
    name: 'a negative length',
    send: (h) =>
      `POST /v1/completions HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n${JSON_TYPE}\r\nContent-Length: -1\r\n\r\n`,
    status: 400,
  },
  {
    name: '20 KB of headers',
    send: (h) => models(`Host: ${h}`, AUTH, `X-Long: ${'x'.repeat(20_000)}`),
    status: 431,
  },
  {
    name: 'a gigabyte',
    send: (h) =>
      `POST /v1/completions HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n${JSON_TYPE}\r\nContent-Length: 1000000000\r\n\r\n`,
    status: 413,
    code: 'too_large',
  },
  {
    name: 'a gigabyte that asks first',
    send: (h) =>
      `POST /v1/completions HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n${JSON_TYPE}\r\nExpect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n`,
    status: 413,
    code: 'too_large',
  },
  {
    name: 'a compressed body',
    send: (h) => post([`Host: ${h}`, AUTH, JSON_TYPE, 'Content-Encoding: gzip']),
    status: 415,
    code: 'content_encoding',
  },
  {
    name: 'an unknown path',
    send: (h) => get('/nothing', `Host: ${h}`, AUTH),
    status: 404,
    code: 'unknown_route',
  },
  {
    name: 'GET where there is only POST',
    send: (h) => get('/v1/completions', `Host: ${h}`, AUTH),
    status: 405,
    code: 'method_not_allowed',
  },
  {
    name: 'DELETE',
    send: (h) => `DELETE /v1/models HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n\r\n`,
    status: 405,
    code: 'method_not_allowed',
  },
  {
    name: 'TRACE',
    send: (h) => `TRACE /v1/models HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n\r\n`,
    status: 405,
    code: 'method_not_allowed',
  },
  {
    name: 'an upgrade to a web socket',
    send: (h) => get('/ws', `Host: ${h}`, AUTH, 'Upgrade: websocket', 'Connection: Upgrade'),
    status: 404,
    code: 'unknown_route',
  },
  {
    name: 'a path out of the root',
    send: (h) => get('/..%2f..%2fetc/passwd', `Host: ${h}`, AUTH),
    status: 404,
    code: 'unknown_route',
  },
  {
    name: 'a model out of the root',
    send: (h) => get('/v1/models/..%2fx', `Host: ${h}`, AUTH),
    status: 404,
    code: 'model_not_found',
  },
  {
    name: 'a broken escape',
    send: (h) => get('/%zz', `Host: ${h}`, AUTH),
    status: 400,
    code: 'bad_path',
  },
  {
    name: 'a NUL in the path',
    send: (h) => get('/%00', `Host: ${h}`, AUTH),
    status: 400,
    code: 'bad_path',
  },
  {
    name: 'headers that do not end',
    send: (h) => `GET /v1/models HTTP/1.1\r\nHost: ${h}\r\nX-Slow: `,
    status: 408,
  },
  {
    name: 'a body that does not come',
    send: (h) =>
      `POST /v1/completions HTTP/1.1\r\nHost: ${h}\r\n${AUTH}\r\n${JSON_TYPE}\r\nContent-Length: 100\r\n\r\n{`,
    status: 408,
  },
];

describe('the front door', () => {
  for (const { name, send, status, code } of CASES) {
    test(`${name}: ${status}${code === undefined ? '' : ` ${code}`}`, async () => {
      const answer = await lab.raw(send(host), status === 408 ? 4000 : 300);
      assert.equal(answer.slice(0, 12), `HTTP/1.1 ${status}`, answer.slice(0, 200));
      assert.doesNotMatch(answer, /100 Continue/);
      assert.doesNotMatch(answer, /access-control/i);
      if (code !== undefined) assert.match(answer, new RegExp(`"code":"${code}"`));
      if (status === 401) assert.match(answer, /www-authenticate: Bearer/i);
      if (status === 405) assert.match(answer, /\r\nallow: (GET|POST)\r\n/i);
      const next = await lab.fetch('/v1/models');
      assert.equal(next.status, 200, 'the server serves the next request');
    });
  }

  test('what was refused is closed, so that its body is not the next request', async () => {
    const before = engine.requests.length;
    const hidden = post([`Host: ${host}`, AUTH, JSON_TYPE]);
    const answer = await lab.raw(post([`Host: ${host}`, JSON_TYPE], hidden));
    assert.match(answer, /^HTTP\/1\.1 401/);
    assert.match(answer, /connection: close/i);
    assert.equal(answer.split('HTTP/1.1').length - 1, 1);
    assert.equal(engine.requests.length, before);
  });

  test('a body without a declared length is cut off at the limit', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const head = `POST /v1/completions HTTP/1.1\r\nHost: ${host}\r\n${AUTH}\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const answer = await lab.raw(head + chunk.repeat(260));
    assert.match(answer, /^HTTP\/1\.1 413/);
  });

  test('every route but /health wants the token', async () => {
    for (const { method, path } of ROUTES) {
      const target = path.replace(/:id.*$/, 'toy');
      const answer = await fetch(lab.base + target, {
        method,
        ...(method === 'POST'
          ? { body: '{}', headers: { 'content-type': 'application/json' } }
          : {}),
      });
      assert.equal(answer.status, path === '/health' ? 200 : 401, target);
    }
  });

  test('the token opens as a bearer, and as x-api-key', async () => {
    const answer = await fetch(`${lab.base}/v1/models`, { headers: { 'x-api-key': TOKEN } });
    assert.equal(answer.status, 200);
  });

  test('an allowed page is answered with its own origin alone, without credentials', async () => {
    const preflight = await fetch(`${lab.base}/v1/completions`, {
      method: 'OPTIONS',
      headers: { origin: 'http://localhost:3000', 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-origin'), 'http://localhost:3000');
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null);
    assert.equal(preflight.headers.get('access-control-allow-private-network'), null);
    const answer = await lab.fetch('/v1/models', undefined, { origin: 'http://localhost:3000' });
    assert.equal(answer.headers.get('access-control-allow-origin'), 'http://localhost:3000');
  });

  test('a thousand requests at once on one socket are answered in order', async () => {
    const one = get('/v1/models', `Host: ${host}`, AUTH);
    const last = get('/version', `Host: ${host}`, AUTH);
    const answer = await lab.raw(one.repeat(999) + last, 1000);
    const bodies = answer.match(/\{"(object|version)"/g) ?? [];
    assert.equal(bodies.length, 1000);
    assert.equal(bodies.at(-1), '{"version"');
  });

  test('too many sockets are closed, and the others are served', async () => {
    // The usual, long timeouts: a socket that is closed here was one too many, not one too slow.
    const crowded = await startLab([served(engine, 'toy')]);
    const closed = Array.from({ length: MAX_CONNECTIONS + 88 }, () => {
      const socket = connect(crowded.server.port, '127.0.0.1').resume();
      socket.on('error', () => undefined);
      return { socket, promise: new Promise((resolve) => socket.once('close', resolve)) };
    });
    let tooMany = 0;
    await new Promise<void>((resolve) => {
      for (const { promise } of closed) void promise.then(() => ++tooMany === 88 && resolve());
    });
    for (const { socket } of closed) socket.destroy();
    await Promise.all(closed.map(({ promise }) => promise));
    await until('an answer', async () => (await crowded.fetch('/v1/models')).status === 200);
    await crowded.server.close();
  });

  test('the log shows no control characters of a request', async () => {
    await lab.fetch('/v1/models/x%0a[ERROR]%20root%1b[2J', undefined, { 'user-agent': 'a\tb' });
    await until('the line of the log', () => lab.log.some((line) => line.includes('ERROR')));
    for (const line of lab.log) assert.match(line, /^[\x20-\x7e·]+$/);
  });
});

describe('where the server listens', () => {
  test('on the loopback interface alone', () => {
    assert.equal(new URL(lab.server.url).hostname, '127.0.0.1');
  });

  test('a taken port is replaced by a free one, and that is said', async () => {
    const second = await startLab([served(engine, 'toy')], { port: lab.server.port });
    try {
      assert.notEqual(second.server.port, lab.server.port);
      assert.match(
        second.log.join('\n'),
        new RegExp(`port ${lab.server.port} is taken; listening on ${second.server.port}`),
      );
      assert.equal((await second.fetch('/v1/models')).status, 200);
    } finally {
      await second.server.close();
    }
  });

  test('a short token is refused', async () => {
    const options = { models: [], token: 'short', port: 0, version: '', log: () => undefined };
    await assert.rejects(HttpServer.start(options), {
      code: 'bad_request',
      message: /token of 5 characters/,
    });
  });

  test('a wildcard address takes any IP address as its name, but no other name', async () => {
    const open = await startLab([served(engine, 'toy')], {
      host: '0.0.0.0',
      hostNames: ['box.local'],
    });
    const ask = async (name: string) =>
      (await open.raw(models(`Host: ${name}:${open.server.port}`, AUTH))).slice(9, 12);
    try {
      assert.equal(await ask('192.168.1.7'), '200');
      assert.equal(await ask('box.local'), '200');
      assert.equal(await ask('evil.example'), '403');
    } finally {
      await open.server.close();
    }
  });
});
