import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ModelState, ServedModel } from '../../../extension/engine/server/engine';
import { MAX_ACTIVE_CHOICES } from '../../../extension/engine/server/limits';
import { until } from '../../until';
import { eventsOf, startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served } from './scripted';

const PATH = '/v1/completions';
const slow = () => new ScriptedEngine({ text: 'word '.repeat(200), msPerToken: 5 });
const ask = { model: 'toy', prompt: 'x', max_tokens: 300 };

/** Sends a request and leaves after so many milliseconds. */
async function leaveAfter(lab: Lab, body: object, ms: number): Promise<void> {
  const controller = new AbortController();
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const options = {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
    signal: controller.signal,
  };
  const answer = fetch(lab.base + PATH, options)
    .then((response) => response.text())
    .catch(() => '');
  await delay(ms);
  controller.abort();
  await answer;
}

describe('a client that leaves', () => {
  test('ends its answers at once, streamed or not', async () => {
    const engine = slow();
    const lab = await startLab([served(engine, 'toy')]);
    for (const stream of [true, false]) {
      await leaveAfter(lab, { ...ask, stream, n: 2 }, 80);
      await until('the engine to be idle', () => engine.running === 0);
      await until('no answer under way', () => lab.server.activeChoices === 0);
    }
    await until(
      'two lines of the log',
      () => lab.log.filter((line) => line.includes('client left')).length === 2,
    );
    await lab.server.close();
  });

  test('200 of them leave room for the next', async () => {
    const engine = slow();
    const lab = await startLab([served(engine, 'toy')]);
    for (let i = 0; i < 200; i += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, j) => leaveAfter(lab, { ...ask, stream: true }, j)),
      );
    }
    await until(
      'no answer under way',
      () => engine.running === 0 && lab.server.activeChoices === 0,
    );
    const answer = await lab.fetch(PATH, { ...ask, max_tokens: 1 });
    assert.equal(answer.status, 200);
    await lab.server.close();
  });

  test('or only stops reading is cut off after a while', async () => {
    const engine = new ScriptedEngine({ text: 'word '.repeat(400), msPerToken: 1 });
    const endless = {
      ...ask,
      n: 8,
      prompt: ['a', 'b', 'c', 'd'],
      logprobs: 5,
      stream: true,
      max_tokens: 400,
      echo: true,
    };
    const lab = await startLab([served(engine, 'toy')], { timeouts: { stalledMs: 300 } });
    const body = JSON.stringify(endless);
    const socket = connect(lab.server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    const host = `127.0.0.1:${lab.server.port}`;
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('the cut', () => lab.log.some((line) => line.includes('client left')));
    socket.destroy();
    await until('no answer under way', () => lab.server.activeChoices === 0);
    await lab.server.close();
  });
});

describe('too many answers', () => {
  test('get 429 and when to come again; the others go on', async () => {
    const engine = slow();
    const lab = await startLab([served(engine, 'toy')]);
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const many = Array.from({ length: MAX_ACTIVE_CHOICES / 8 }, () =>
      fetch(lab.base + PATH, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...ask, n: 8 }),
        signal: leaving.signal,
      }).catch(() => null),
    );
    await until('every place to be taken', () => lab.server.activeChoices === MAX_ACTIVE_CHOICES);
    const refused = await lab.fetch(PATH, ask);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '2');
    leaving.abort();
    await Promise.all(many);
    await until('no answer under way', () => lab.server.activeChoices === 0);
    assert.equal((await lab.fetch(PATH, { ...ask, max_tokens: 1 })).status, 200);
    await lab.server.close();
  });
});

describe('a model that is not there yet', () => {
  const loading = (loadMs: number) => {
    const engine = new ScriptedEngine({ text: 'hello' });
    let state: ModelState = 'idle';
    const model: ServedModel = {
      id: 'toy',
      created: 1,
      get state() {
        return state;
      },
      loaded: null,
      use: async (task) => {
        state = 'loading';
        await delay(loadMs);
        state = 'ready';
        return task(engine);
      },
    };
    return model;
  };

  test('is waited for when it loads soon', async () => {
    const lab = await startLab([loading(50)]);
    assert.equal(
      (await lab.fetch('/health')).status,
      200,
      'idle is healthy: the next request loads',
    );
    assert.equal((await lab.fetch(PATH, ask)).status, 200);
    await lab.server.close();
  });

  test('is 503 with Retry-After when it takes long, and so is /health', async () => {
    const lab = await startLab([loading(400)], { timeouts: { loadMs: 50 } });
    const answer = await lab.fetch(PATH, ask);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '2');
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    assert.deepEqual([error.code, error.type], ['loading', 'unavailable_error']);
    const health = await lab.fetch('/health');
    assert.equal(health.status, 503);
    assert.doesNotMatch(await health.text(), /toy/);
    await lab.server.close();
  });
});

describe('a server that closes', () => {
  test('tells open streams and frees the port', async () => {
    const engine = slow();
    const lab = await startLab([served(engine, 'toy')]);
    const answer = await lab.fetch(PATH, { ...ask, stream: true });
    await until('the answer to begin', () => engine.running === 1);
    await delay(30);
    await lab.server.close();
    const events = eventsOf(await answer.text()) as {
      error?: { code: string };
      choices?: { finish_reason: unknown }[];
    }[];
    assert.equal(events.at(-1)?.error?.code, 'shutting_down');
    assert.ok(events.every(({ choices }) => choices?.[0]?.finish_reason !== 'stop'));
    await assert.rejects(fetch(lab.base));
  });
});
