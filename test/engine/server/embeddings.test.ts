import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import type { Engine } from '../../../extension/engine/engine';
import { loadEngine } from '../../../extension/engine/load_engine';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { testBadRequests, type BadRequest } from './bad_requests';
import { startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served, tokenizer } from './scripted';

const PATH = '/v1/embeddings';
const slow = new ScriptedEngine({ text: '', msPerToken: 20 });
let engine: Engine;
let lab: Lab;
let client: OpenAI;
before(async () => {
  const options = { backend: 'cpu', precision: 'fast', threads: 2, contextLength: 512 } as const;
  engine = await loadEngine({ modelDir: embeddedModel(), ...options });
  lab = await startLab([served(engine, 'sprout'), served(slow, 'slow')]);
  client = new OpenAI({ baseURL: `${lab.base}/v1`, apiKey: TOKEN });
});
after(async () => {
  await lab.server.close();
  await engine.dispose();
});

interface Answer {
  readonly object: string;
  readonly model: string;
  readonly data: readonly { object: string; index: number; embedding: number[] | string }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

async function embed(change: object): Promise<Answer> {
  const answer = await lab.fetch(PATH, { model: 'sprout', input: 'x = 1', ...change });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as Answer;
}

const vectorOf = ({ data }: Answer, index = 0): number[] => {
  const { embedding } = data[index] ?? assert.fail();
  return typeof embedding === 'string' ? assert.fail('a string') : embedding;
};
const lengthOf = (vector: readonly number[]) => Math.hypot(...vector);

describe('POST /v1/embeddings', () => {
  test('OpenAI’s shape; a text, texts and ids are the same', async () => {
    const one = await embed({});
    const { object, model, data, usage } = one;
    assert.deepEqual([object, model, data.length], ['list', 'sprout', 1]);
    assert.deepEqual([data[0]?.object, data[0]?.index], ['embedding', 0]);
    const ids = [...engine.tokenizer.prefixIds, ...engine.tokenizer.encode('x = 1')];
    assert.deepEqual(usage, { prompt_tokens: ids.length, total_tokens: ids.length });
    assert.equal(vectorOf(one).length, engine.embeddingSize);
    assert.ok(Math.abs(lengthOf(vectorOf(one)) - 1) < 1e-5);
    const [texts, flat, nested] = [
      await embed({ input: ['def f():', 'x = 1'] }),
      await embed({ input: ids }),
      await embed({ input: [engine.tokenizer.encode('def f():'), ids] }),
    ];
    assert.deepEqual(vectorOf(texts, 1), vectorOf(one));
    assert.deepEqual(vectorOf(flat), vectorOf(one));
    assert.deepEqual(vectorOf(nested, 1), vectorOf(one));
    assert.notDeepEqual(vectorOf(texts, 0), vectorOf(one));
  });

  test('base64 is the same numbers as little-endian float32', async () => {
    const floats = vectorOf(await embed({ encoding_format: 'float' }));
    const { embedding } = (await embed({ encoding_format: 'base64' })).data[0] ?? assert.fail();
    assert.ok(typeof embedding === 'string');
    const bytes = Buffer.from(embedding, 'base64');
    assert.deepEqual(
      floats,
      Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i)),
    );
  });

  test('fewer dimensions are the first ones, of length 1 again', async () => {
    const all = vectorOf(await embed({}));
    const few = vectorOf(await embed({ dimensions: 8 }));
    const length = lengthOf(all.slice(0, 8));
    assert.equal(few.length, 8);
    for (const [i, x] of few.entries())
      assert.ok(Math.abs(x - (all[i] ?? 0) / length) < 1e-5, `${i}`);
  });

  test('mean and last differ', async () => {
    const [mean, last] = [await embed({ pooling: 'mean' }), await embed({ pooling: 'last' })];
    assert.notDeepEqual(vectorOf(mean), vectorOf(last));
  });

  test('many texts at once are each what they are alone', async () => {
    const input = Array.from({ length: 40 }, (_, i) => `print(${i})\n`.repeat(1 + (i % 9)));
    const all = await embed({ input });
    assert.deepEqual(
      all.data.map(({ index }) => index),
      [...input.keys()],
    );
    for (const i of [0, 17, 39])
      assert.deepEqual(vectorOf(all, i), vectorOf(await embed({ input: input[i] })));
    engine.checkIntegrity();
  });

  test('the official client, which asks for base64 by itself', async () => {
    const { data } = await client.embeddings.create({ model: 'sprout', input: ['x = 1', 'y'] });
    assert.equal(data.length, 2);
    assert.deepEqual(data[0]?.embedding, vectorOf(await embed({})));
  });

  test('a client that goes away frees its place', async () => {
    const controller = new AbortController();
    const input = Array.from({ length: 100 }, (_, i) => `text ${i}`);
    const request = client.embeddings.create(
      { model: 'slow', input },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort(), 50);
    await assert.rejects(request);
    const next = await lab.fetch(PATH, { model: 'slow', input: 'x' });
    assert.equal(next.status, 200);
    await next.text();
    assert.equal(lab.server.activeChoices, 0);
  });

  test('what fails is told, and the next one succeeds', async () => {
    slow.failure = new Error('the toy broke');
    const failed = await lab.fetch(PATH, { model: 'slow', input: ['a', 'b'] });
    assert.equal(failed.status, 500);
    await failed.text();
    slow.failure = null;
    const next = await lab.fetch(PATH, { model: 'slow', input: ['a', 'b'] });
    assert.equal(next.status, 200);
    await next.text();
    assert.equal(slow.running, 0);
  });
});

const bad = (name: string, change: object, code: string, param: string | null): BadRequest => ({
  name,
  path: PATH,
  body: { model: 'sprout', input: 'x', ...change },
  code,
  param,
});
const tooMany = Array.from({ length: 3000 }, () => 'x');

describe('bad requests', () => {
  testBadRequests(
    [
      bad('no input', { input: undefined }, 'missing_required_parameter', 'input'),
      bad('null', { input: null }, 'invalid_type', 'input'),
      bad('a number', { input: 5 }, 'invalid_type', 'input'),
      bad('no texts', { input: [] }, 'empty_array', 'input'),
      bad('no ids', { input: [[]] }, 'empty_array', 'input[0]'),
      bad('an empty text', { input: '' }, 'empty_string', 'input'),
      bad('an empty text among others', { input: ['a', ''] }, 'empty_string', 'input[1]'),
      bad('3000 texts', { input: tooMany }, 'array_above_max_length', 'input'),
      bad('text and ids', { input: ['a', 1] }, 'invalid_type', 'input[1]'),
      bad('a negative id', { input: [-1] }, 'integer_below_min_value', 'input[0]'),
      bad('half an id', { input: [1.5] }, 'invalid_type', 'input[0]'),
      bad('an unknown id', { input: [[1], [tokenizer.vocabSize]] }, 'invalid_value', 'input[1]'),
      bad('too long', { input: 'a b '.repeat(1000) }, 'context_length_exceeded', 'input'),
      bad('another format', { encoding_format: 'xml' }, 'invalid_value', 'encoding_format'),
      bad('no dimensions', { dimensions: 0 }, 'integer_below_min_value', 'dimensions'),
      bad('half a one', { dimensions: 1.5 }, 'invalid_type', 'dimensions'),
      bad('too many', { dimensions: 4096 }, 'integer_above_max_value', 'dimensions'),
      bad('another pooling', { pooling: 'cls' }, 'invalid_value', 'pooling'),
      { ...bad('another model', { model: 'x' }, 'model_not_found', 'model'), status: 404 },
      bad('no model', { model: undefined }, 'missing_required_parameter', 'model'),
      bad(
        'all too much',
        { input: Array(2000).fill('a b '.repeat(100)) },
        'array_above_max_length',
        'input',
      ),
    ],
    () => lab,
    { path: PATH, body: { model: 'sprout', input: 'x' } },
  );
});
