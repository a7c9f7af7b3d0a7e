import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRemote } from '../../../extension/engine/remote/remote_engine';
import type { RemoteFim } from '../../../extension/protocol/engine';
import { requestAt } from '../completion/marked';
import { type Answer, events, FakeServer, json, models } from './fake_server';

let server: FakeServer;
afterEach(() => server.close());

async function open(
  answers: Readonly<Record<string, Answer>>,
  {
    model = '',
    apiKey = '',
    fim = 'auto',
    contextLength = 0,
  }: { model?: string; apiKey?: string; fim?: RemoteFim; contextLength?: number } = {},
) {
  server = await FakeServer.start({ 'GET /v1/models': models('coder', 'other'), ...answers });
  return openRemote({ url: server.url, model, apiKey, fim, contextLength }, () => {});
}

const choices = (...texts: string[]) =>
  texts.map((text, i) => ({
    choices: [{ index: 0, text, finish_reason: i === texts.length - 1 ? 'stop' : null }],
  }));

describe('completion on a remote server', () => {
  test('llama.cpp: /infill, in pieces, cut where the suggestion ends', async () => {
    const engine = await open({
      'GET /props': json(200, { default_generation_settings: {} }),
      'POST /infill': events([
        { content: '4' },
        { content: '2; // é' },
        { content: '\nmore' },
        { content: 'x' },
      ]),
    });
    const partials: string[] = [];
    const result = await engine.complete(requestAt('const a = 1;\nconst x = ▮\nconst y = 2;\n'), {
      onPartial: ({ text }) => partials.push(text),
    });
    assert.equal(result.text, '42; // é');
    assert.equal(result.stop, 'line');
    assert.ok(partials.length > 0 && result.text.startsWith(partials[0] ?? '?'));
    const [asked] = server.of('/infill');
    assert.equal(asked?.body.input_prefix, 'const a = 1;\nconst x = ');
    assert.equal(asked?.body.input_suffix, '\nconst y = 2;\n');
    assert.equal(engine.info.backendDescription, `${server.url}, completion by infill`);
    assert.equal(engine.info.model, 'coder');
  });

  test('a server without /props, not vLLM: the suffix of /v1/completions, with the key', async () => {
    const engine = await open(
      { 'POST /v1/completions': events(choices('a + ', 'b')) },
      { model: 'other', apiKey: 'secret' },
    );
    const result = await engine.complete(requestAt('sum = ▮\n'), {});
    assert.equal(result.text, 'a + b');
    const [asked] = server.of('/v1/completions');
    assert.equal(asked?.authorization, 'Bearer secret');
    const { model, prompt, suffix, stream } = asked?.body ?? {};
    assert.deepEqual(
      { model, prompt, suffix, stream },
      { model: 'other', prompt: 'sum = ', suffix: '\n', stream: true },
    );
  });

  test('vLLM: the template whose control tokens its tokenizer knows; a document cannot write one', async () => {
    const engine = await open({
      'GET /v1/models': json(200, {
        data: [{ id: 'coder', owned_by: 'vllm', max_model_len: 3000 }],
      }),
      'POST /tokenize': (response, asked) => {
        const count = String(asked.body.prompt).startsWith('<|fim_') ? 1 : 7;
        return json(200, { count, tokens: Array(count).fill(0) })(response, asked);
      },
      'POST /v1/completions': events(choices('1')),
    });
    assert.equal(engine.info.contextLength, 3000);
    await engine.complete(requestAt('// <|fim_suffix|>\nx = ▮\n'), {});
    assert.equal(
      server.of('/v1/completions')[0]?.body.prompt,
      '<|fim_prefix|>// < |fim_suffix|>\nx = <|fim_suffix|>\n<|fim_middle|>',
    );
  });

  test('a template that is wanted and not to be had is an error', async () => {
    await assert.rejects(open({}, { fim: 'template' }), {
      code: 'unsupported',
      message: /anllm.remote.fim/,
    });
  });

  test('an abort ends the request on the server', async () => {
    const engine = await open({
      'POST /v1/completions': async (response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify({ choices: [{ text: 'x' }] })}\n\n`);
        await new Promise((done) => response.on('close', done));
      },
    });
    const controller = new AbortController();
    const running = engine.complete(requestAt('a = ▮\n'), {
      signal: controller.signal,
      onPartial: () => controller.abort(),
    });
    assert.equal((await running).reason, 'cancelled');
    for (let i = 0; i < 100 && server.aborted === 0; i++) await sleep(10);
    assert.equal(server.aborted, 1);
  });

  test('the prompt is cut to the context', async () => {
    const engine = await open(
      { 'POST /v1/completions': events(choices('1')) },
      { contextLength: 600 },
    );
    const long = Array.from({ length: 2000 }, (_, i) => `line ${i}\n`).join('');
    await engine.complete(requestAt(`${long}x = ▮\n${long}`, { maxTokens: 100 }), {});
    const { prompt, suffix } = server.of('/v1/completions')[0]?.body ?? {};
    assert.ok(String(prompt).length + String(suffix).length <= 1500);
    assert.ok(String(prompt).endsWith('x = ') && String(suffix).startsWith('\nline 0\n'));
  });
});

describe('what can go wrong with a remote server', () => {
  const failing = (answers: Readonly<Record<string, Answer>>, code: string, message: RegExp) =>
    assert.rejects(
      open(answers).then((engine) => engine.complete(requestAt('x = ▮\n'), {})),
      { name: 'EngineError', code, message },
    );

  test('nothing listens', async () => {
    server = await FakeServer.start({});
    const { url } = server;
    await server.close();
    const settings = { url, model: '', apiKey: '', fim: 'auto', contextLength: 0 } as const;
    await assert.rejects(
      openRemote(settings, () => {}),
      {
        code: 'unavailable',
        message: /nothing listens there; is the server running, and is anllm\.remote\.url right\?/,
      },
    );
  });

  for (const url of ['localhost:8080', 'ftp://x', 'http://user:pw@x', 'http://x?y=1', '']) {
    test(`the address ${JSON.stringify(url)}`, async () => {
      server = await FakeServer.start({});
      const settings = { url, model: '', apiKey: '', fim: 'auto', contextLength: 0 } as const;
      await assert.rejects(
        openRemote(settings, () => {}),
        { code: 'bad_request', message: /anllm\.remote\.url/ },
      );
    });
  }

  test('the model is not there', async () => {
    await assert.rejects(open({}, { model: 'nope' }), {
      code: 'bad_request',
      message: /no model "nope"; it has coder, other/,
    });
  });

  test('an address with /v1 and a slash is the same server', async () => {
    server = await FakeServer.start({ 'GET /v1/models': models('m') });
    const settings = {
      url: `${server.url}/v1/`,
      model: '',
      apiKey: '',
      fim: 'suffix',
      contextLength: 0,
    } as const;
    assert.equal((await openRemote(settings, () => {})).info.modelDir, server.url);
  });

  test('the key is refused', () =>
    failing(
      { 'GET /v1/models': json(401, { error: { message: 'bad key' } }) },
      'bad_request',
      /HTTP 401: bad key; .*Set API Key/,
    ));
  test('the suffix is refused', () =>
    failing(
      { 'POST /v1/completions': json(400, { message: 'suffix is not supported' }) },
      'bad_request',
      /HTTP 400: suffix is not supported/,
    ));
  test('the server is overloaded', () =>
    failing({ 'POST /v1/completions': json(503, 'busy') }, 'unavailable', /HTTP 503: "busy"/));
  test('an error in the middle of a stream', () =>
    failing(
      { 'POST /v1/completions': events([{ error: { message: 'out of memory' } }]) },
      'unavailable',
      /out of memory/,
    ));
  test('what is no JSON', () =>
    failing({ 'POST /v1/completions': events(['<html>']) }, 'unavailable', /expected JSON/));
  test('a connection that breaks', () =>
    failing(
      {
        'POST /v1/completions': (response) =>
          void response.writeHead(200).write('data: {"a', () => response.destroy()),
      },
      'unavailable',
      /connection/,
    ));
  test('a redirect is not followed: the key would go with it', () =>
    failing(
      {
        'POST /v1/completions': (response) =>
          void response.writeHead(307, { Location: 'http://127.0.0.1:1/' }).end(),
      },
      'unavailable',
      /redirect/,
    ));
});
