/** The server over the real engine. Sprout cannot chat; with a template it at least answers. */
import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Engine } from '../../../extension/engine/engine';
import { loadEngine } from '../../../extension/engine/load_engine';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { temporaryFolder } from '../loading/model_fixture';
import { startLab, type Lab } from './lab';
import { served } from './scripted';

const TEMPLATE = `{% for message in messages %}# {{ message.role }}: {{ message.content }}
{% endfor %}# assistant:
{% if tools %}{% for tool in tools %}{{ tool.function.name }}{% endfor %}{% endif %}`;

let engine: Engine;
let lab: Lab;
before(async () => {
  const modelDir = join(temporaryFolder(), 'sprout-chat');
  cpSync(embeddedModel(), modelDir, { recursive: true });
  writeFileSync(join(modelDir, 'chat_template.jinja'), TEMPLATE);
  engine = await loadEngine({
    modelDir,
    backend: 'auto',
    precision: 'fast',
    threads: 2,
    contextLength: 1024,
  });
  lab = await startLab([served(engine, 'chat')]);
});
after(async () => {
  await lab.server.close();
  await engine.dispose();
});

interface Chat {
  readonly choices: readonly {
    readonly message: {
      readonly content: string;
      readonly tool_calls?: readonly { function: { name: string; arguments: string } }[];
    };
    readonly finish_reason: string;
  }[];
  readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } };
}

async function chat(content: string, change: object): Promise<Chat> {
  const body = { model: 'chat', messages: [{ role: 'user', content }], ...change };
  const answer = await lab.fetch('/v1/chat/completions', body);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as Chat;
}

const texts = ({ choices }: Chat): string[] => choices.map(({ message }) => message.content);

describe('the server over the engine', () => {
  test('many chats at once say what each of them says alone', async () => {
    const ask = (i: number) =>
      chat(`number ${i}`, {
        max_completion_tokens: 24,
        temperature: 1.2,
        seed: i,
        frequency_penalty: 0.5,
      });
    const alone: string[][] = [];
    for (let i = 0; i < 10; i++) alone.push(texts(await ask(i)));
    const together = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(i)));
    assert.deepEqual(together.map(texts), alone);
    assert.ok(new Set(alone.flat()).size > 1);
  });

  test('the answers of one request differ, and share their prompt', async () => {
    const long = 'def f(x): return x\n'.repeat(20);
    const first = await chat(long, { n: 6, seed: 5, temperature: 1.5, max_completion_tokens: 12 });
    assert.ok(new Set(texts(first)).size > 1);
    const again = await chat(long, { n: 6, seed: 5, temperature: 1.5, max_completion_tokens: 12 });
    assert.deepEqual(texts(again), texts(first));
    assert.ok(again.usage.prompt_tokens_details.cached_tokens > 50);
  });

  test('the largest seed has answers to give, and harms nobody', async () => {
    const few = { max_completion_tokens: 4, temperature: 1 };
    const beside = chat('beside', few);
    for (const seed of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])
      assert.equal(texts(await chat('seeds', { ...few, seed, n: 3 })).length, 3);
    await beside;
  });

  test('JSON of a schema is JSON of the schema, at any seed', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string', maxLength: 8 },
        kind: { enum: ['a', 'b'] },
        count: { type: 'integer', minimum: 0, maximum: 99 },
      },
      required: ['name', 'kind', 'count'],
      additionalProperties: false,
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, seed) =>
        chat('x', { response_format, seed, temperature: 1.3, max_completion_tokens: 200 }),
      ),
    );
    for (const { choices } of answers) {
      assert.equal(choices[0]?.finish_reason, 'stop');
      const { name, kind, count } = JSON.parse(choices[0]?.message.content ?? '') as Record<
        string,
        unknown
      >;
      assert.ok(typeof name === 'string' && name.length <= 8);
      assert.ok(kind === 'a' || kind === 'b');
      assert.ok(Number.isInteger(count) && Number(count) >= 0 && Number(count) <= 99);
    }
  });

  test('a call that must be is one of the tools, with arguments of its schema', async () => {
    const tool = (name: string, parameters: object) => ({
      type: 'function',
      function: { name, parameters },
    });
    const tools = [
      tool('paint', {
        type: 'object',
        properties: { color: { $ref: '#/$defs/color' } },
        required: ['color'],
        additionalProperties: false,
        $defs: { color: { enum: ['red', 'green'] } },
      }),
      tool('stop', { type: 'object', properties: {}, additionalProperties: false }),
    ];
    for (let seed = 0; seed < 6; seed++) {
      const { choices } = await chat('x', {
        tools,
        tool_choice: 'required',
        seed,
        temperature: 1.5,
      });
      assert.equal(choices[0]?.finish_reason, 'tool_calls');
      const call = choices[0]?.message.tool_calls?.[0]?.function;
      const args = JSON.parse(call?.arguments ?? '') as { color?: string };
      if (call?.name === 'paint') assert.ok(['red', 'green'].includes(args.color ?? ''));
      else assert.deepEqual([call?.name, args], ['stop', {}]);
    }
  });

  test('a bias forbids a token, a penalty makes repetition rarer', async () => {
    const ask = async (change: object) => {
      const params = {
        model: 'chat',
        prompt: 'x = 1\nx = 1\nx = 1\n',
        max_tokens: 40,
        temperature: 0,
        ...change,
      };
      const answer = (await (await lab.fetch('/v1/completions', params)).json()) as {
        choices: { text: string }[];
      };
      return answer.choices[0]?.text ?? '';
    };
    const plain = await ask({});
    const [first = 0] = engine.tokenizer.encode(plain);
    assert.ok(
      !engine.tokenizer
        .encode(await ask({ logit_bias: { [first]: -100 }, max_tokens: 1 }))
        .includes(first),
    );
    const kinds = (text: string) => new Set(engine.tokenizer.encode(text)).size;
    assert.ok(kinds(await ask({ frequency_penalty: 2, presence_penalty: 2 })) > kinds(plain));
  });

  test('everything is free when all have gone', () => {
    const { running, waiting, blocks, freeBlocks, cachedBlocks } = engine.metrics() ?? {};
    assert.deepEqual([running, waiting], [0, 0]);
    assert.equal((freeBlocks ?? 0) + (cachedBlocks ?? 0), blocks);
    engine.checkIntegrity();
  });
});

test('a text that cannot fit is refused by its length, before it becomes tokens', async () => {
  const long = 'const value = compute(a, b);\n'.repeat(140_000);
  for (const [path, body] of [
    ['/v1/completions', { prompt: long }],
    ['/v1/chat/completions', { messages: [{ role: 'user', content: long }] }],
    ['/v1/embeddings', { input: long }],
  ] as const) {
    const answer = await lab.fetch(path, { model: 'chat', ...body });
    assert.equal(answer.status, 400, path);
    assert.match(await answer.text(), /at least \d+ tokens; this model's context holds 1024/, path);
  }
});

test('tokens are counted whatever the context holds', async () => {
  const messages = [{ role: 'user', content: 'word '.repeat(3000) }];
  const answer = await lab.fetch('/v1/messages/count_tokens', { model: 'chat', messages });
  const { input_tokens: tokens } = (await answer.json()) as { input_tokens: number };
  assert(tokens > 3000, `${tokens}`);
});
