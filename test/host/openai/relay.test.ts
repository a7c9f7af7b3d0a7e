import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Relay } from '../../../extension/host/openai/relay';
import { ResponseTracker } from '../../../extension/host/openai/response_tracker';

const STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n';
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** A server that says what the test wants, and then dies. */
let answer: (socket: Socket, request: string) => void = () => {};
const behind = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (data) => answer(socket, data.toString('latin1')));
});
let relay: Relay;
before(async () => {
  await new Promise<void>((resolve) => behind.listen(0, '127.0.0.1', resolve));
  relay = await Relay.listen(0);
});
after(async () => {
  await relay.close();
  await new Promise((resolve) => behind.close(resolve));
});

/** All that comes back until the connection ends. */
function ask(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(relay.port, '127.0.0.1');
    let got = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error('nothing comes')));
    socket.on('data', (data) => (got += data.toString('latin1')));
    socket.once('error', reject);
    socket.once('close', () => resolve(got));
    socket.write(request);
  });
}

/** Dies as a killed process does: what was written still arrives. */
const dieWith = (text: string) => (socket: Socket) => socket.end(text);
const POST = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`;

describe('the relay', () => {
  before(() => {
    relay.target = (behind.address() as { port: number }).port;
  });

  test('passes bytes on as they are, both ways', async () => {
    let seen = '';
    answer = (socket, request) => {
      seen = request;
      socket.end(WHOLE);
    };
    assert.equal(await ask(POST('/v1/x')), WHOLE);
    assert.equal(seen, POST('/v1/x'));
  });

  test('a stream that breaks off ends with an error and [DONE]', async () => {
    answer = dieWith(STREAM + chunk('data: {}\n\n'));
    const text = await ask(POST('/v1/completions'));
    assert.ok(text.startsWith(STREAM + chunk('data: {}\n\n')));
    assert.match(
      text,
      /data: \{"error":\{.*"engine_crashed".*\}\n\ndata: \[DONE\]\n\n\r\n0\r\n\r\n$/,
    );
  });

  test('in Anthropic’s words on its path', async () => {
    answer = dieWith(STREAM);
    assert.match(await ask(POST('/v1/messages')), /event: error\ndata: \{"type":"error","error":/);
  });

  test('half an event, and half a body, end with the connection alone', async () => {
    for (const text of [`${STREAM}20\r\ndata: {"ha`, WHOLE.slice(0, -1), STREAM.slice(0, 40)]) {
      answer = dieWith(text);
      const got = await ask(POST('/v1/completions')).catch(() => text);
      assert.equal(got, text);
    }
  });

  test('a request without an answer is told to come again', async () => {
    answer = dieWith('');
    const text = await ask(POST('/v1/completions'));
    assert.match(
      text,
      /^HTTP\/1\.1 503 .*\r\nretry-after: 2\r\n.*\r\n\r\n\{"error":.*engine_crashed/s,
    );
  });

  test('nobody hears an error after a whole answer', async () => {
    for (const text of [WHOLE, STREAM + chunk('data: [DONE]\n\n') + '0\r\n\r\n']) {
      answer = dieWith(text);
      assert.equal(await ask(POST('/v1/completions')), text);
    }
  });

  test('without a server behind it, everyone is told to come again', async () => {
    relay.target = null;
    assert.match(await ask(POST('/v1/completions')), /^HTTP\/1\.1 503 /);
  });

  test('a port that is taken is replaced', async () => {
    const other = await Relay.listen(relay.port);
    assert.notEqual(other.port, relay.port);
    await other.close();
  });
});

test('the tracker says the same however the bytes are cut', () => {
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  const bytes = Buffer.from(interim + WHOLE + STREAM + chunk('data: {}\n\n') + '0\r\n\r\n' + WHOLE);
  const whole = Array.from({ length: bytes.length }, (_, end) => {
    const tracker = new ResponseTracker();
    tracker.push(bytes.subarray(0, end));
    return tracker.state;
  });
  const single = new ResponseTracker();
  const byByte = Array.from({ length: bytes.length }, (_, end) => {
    if (end > 0) single.push(bytes.subarray(end - 1, end));
    return single.state;
  });
  assert.deepEqual(byByte, whole);
  assert.deepEqual([...new Set(whole)].sort(), ['none', 'partial', 'stream']);
  const open = new ResponseTracker();
  open.push(Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nx'));
  assert.equal(open.state, 'until_close');
});
