import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { LinkEvents } from '../../../extension/host/engine/link';
import { startProcess } from '../../../extension/host/engine/process';
import { EngineSupervisor } from '../../../extension/host/engine/supervisor';
import { OpenAiServer } from '../../../extension/host/openai/server';
import { serverToken, type Secrets } from '../../../extension/host/openai/token';
import type { LogEntry } from '../../../extension/protocol/engine';
import { SETTINGS, TSX } from '../../engine/child/child';
import { until } from '../../until';

const script = new URL('../../engine/child/fake_engine.ts', import.meta.url).pathname;
const TOKEN = 'host-token-0123456789abcdef';

function launch(modelDir: string, chatModelDir = '') {
  const log: LogEntry[] = [];
  const settings = { ...SETTINGS, modelDir, chatModelDir };
  const supervisor = new EngineSupervisor({
    start: (events: LinkEvents) => startProcess({ script, settings, execArgv: TSX }, events),
    log: (entry) => log.push(entry),
  });
  const server = new OpenAiServer({
    engine: supervisor,
    settings: () => ({ port: 0, origins: [] }),
    token: async () => TOKEN,
    log: (entry) => log.push(entry),
  });
  return { log, supervisor, server };
}

async function ask(url: string, prompt = 'a secret prompt', token = TOKEN): Promise<Response> {
  return fetch(`${url}/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'short', prompt }),
  });
}

describe('the OpenAI server in VS Code', () => {
  let lab: ReturnType<typeof launch>;
  before(() => {
    lab = launch('/models/short@0', '/models/talk@0');
  });
  after(() => {
    lab.server.dispose();
    return lab.supervisor.close();
  });

  it('is off until it is started, then serves the models of completion and chat', async () => {
    assert.equal(lab.server.address, null);
    assert.equal(lab.supervisor.starts, 0);
    const { url, models } = await lab.server.start();
    assert.deepEqual(models, ['short@0', 'talk@0']);
    const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(answer.status, 200);
    assert.equal((await ask(url, 'x', 'another-token-0123456789')).status, 401);
    assert.equal((await lab.server.start()).url, url, 'a second start changes nothing');
  });

  it('comes back on its port when the engine is killed', async () => {
    const { url } = await lab.server.start();
    const { pid = 0 } = lab.supervisor;
    process.kill(pid, 'SIGKILL');
    await until('the server to stop', () => lab.server.address === null);
    const address = await until('the server to listen', () => lab.server.address);
    assert.equal(address.url, url);
    assert.notEqual(lab.supervisor.pid, pid);
    assert.equal(
      (await fetch(`${url}/models`, { headers: { authorization: `Bearer ${TOKEN}` } })).status,
      200,
    );
  });

  it('comes back on its port when the engine is started anew for other settings', async () => {
    const { url } = await lab.server.start();
    await lab.supervisor.stop();
    const address = await until('the server to listen', () => lab.server.address);
    assert.equal(address.url, url);
  });

  it('stays off once it is stopped', async () => {
    const { url } = await lab.server.start();
    await lab.server.stop();
    await assert.rejects(ask(url));
    await lab.supervisor.stop();
    await delay(700);
    assert.equal(lab.server.address, null);
  });
});

describe('an engine that is killed in the middle of an answer', () => {
  it('ends the stream with an error, says when to come again, and serves on its port', async () => {
    const lab = launch(`/models/${'slow'.repeat(50)}@20`);
    const { url, models } = await lab.server.start();
    const { pid } = lab.supervisor;
    assert.ok(pid !== undefined);
    let isKilled = false;
    const stream = async (): Promise<string> => {
      const answer = await fetch(`${url}/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: models[0], prompt: 'x', stream: true }),
      });
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        text += decoder.decode(chunk);
        if (!isKilled) isKilled = process.kill(pid, 'SIGKILL');
      }
      return text;
    };
    const text = await stream();
    assert.match(text, /"text":"\//);
    assert.match(text, /\n\ndata: \{"error":.*"code":"engine_crashed".*\}\n\ndata: \[DONE\]\n\n$/);
    assert.doesNotMatch(text, /"finish_reason":"/);
    const refused = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '2']);
    const isBack = () => lab.supervisor.pid !== pid && lab.server.address?.url === url;
    await until('the server to be back', isBack);
    const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(answer.status, 200);
    lab.server.dispose();
    await lab.supervisor.close();
  });
});

describe('the log of the server', () => {
  it('says who asked for what, and nothing of the content', async () => {
    const lab = launch('short');
    const { url } = await lab.server.start();
    const answer = await ask(url);
    assert.equal(answer.status, 200, await answer.clone().text());
    const line = await until('the line of the log', () =>
      lab.log.find(({ message }) => message.includes('/v1/completions')),
    );
    assert.match(
      line.message,
      /^server: POST \/v1\/completions · 200 · \d+ ms · prompt=\d+ .* from 127\.0\.0\.1/,
    );
    for (const { message } of lab.log) assert.doesNotMatch(message, /secret|host-token/);
    lab.server.dispose();
    await lab.supervisor.close();
  });
});

describe('the token of the server', () => {
  it('is made once and kept', async () => {
    const kept = new Map<string, string>();
    const secrets: Secrets = {
      get: async (key) => kept.get(key),
      store: async (key, value) => void kept.set(key, value),
    };
    const token = await serverToken(secrets);
    assert.match(token, /^[\w-]{43}$/);
    assert.equal(await serverToken(secrets), token);
    assert.notEqual(await serverToken({ ...secrets, get: async () => undefined }), token);
  });
});

describe('a start that takes its time', () => {
  /** An engine whose server starts when it is told to. */
  function slow() {
    const calls: string[] = [];
    const gates: (() => void)[] = [];
    const server = new OpenAiServer({
      engine: {
        onStatus: () => ({ dispose: () => undefined }),
        startServer: async () => {
          calls.push('start');
          await new Promise<void>((resolve) => gates.push(resolve));
          return { port: 1, models: ['m'] };
        },
        stopServer: async () => void calls.push('stop'),
      },
      settings: () => ({ port: 0, origins: [] }),
      token: async () => TOKEN,
      log: () => undefined,
    });
    const goOn = async () => {
      await until('the engine to be asked', () => gates.length > 0);
      for (const open of gates.splice(0)) open();
    };
    return { server, calls, goOn };
  }

  it('is one start, however often it is asked for', async () => {
    const { server, calls, goOn } = slow();
    const both = Promise.all([server.start(), server.start()]);
    await goOn();
    const [one, two] = await both;
    assert.deepEqual(one, two);
    assert.deepEqual(calls, ['start']);
    await server.stop();
  });

  it('ends as off when it is stopped meanwhile', async () => {
    const { server, calls, goOn } = slow();
    const started = assert.rejects(server.start(), /stopped while it started/);
    await until('the engine to be asked', () => calls.length > 0);
    const stopped = server.stop();
    await goOn();
    await Promise.all([started, stopped]);
    assert.equal(server.address, null);
    assert.deepEqual(calls, ['start', 'stop']);
  });
});
