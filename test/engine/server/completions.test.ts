import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { EngineRequest } from '../../../extension/engine/engine';
import { EngineError } from '../../../extension/engine/errors';
import type { GenerateResult } from '../../../extension/engine/generation/types';
import { nested, testBadRequests, type BadRequest } from './bad_requests';
import { eventsOf, startLab, type Lab } from './lab';
import { ScriptedEngine, served, tokenizer } from './scripted';

const TEXT = 'hello world, é!';
const engine = new ScriptedEngine({ text: TEXT });
const plain = new ScriptedEngine({ text: 'x', fim: false, chat: false });
let lab: Lab;
before(async () => {
  lab = await startLab([served(engine, 'toy'), served(plain, 'org/plain')]);
});
after(() => lab.server.close());

const PATH = '/v1/completions';
const good = { model: 'toy', prompt: 'x' };
const bad = (name: string, change: object, code: string, param?: string | null): BadRequest => ({
  name,
  path: PATH,
  body: { ...good, ...change },
  code,
  ...(param === undefined ? {} : { param }),
});
const json = (name: string, body: string | Uint8Array, code = 'invalid_json'): BadRequest => ({
  name,
  path: PATH,
  body,
  code,
  param: null,
});
/** JSON that JSON.stringify would not write. */
const with_ = (name: string, text: string, code: string, param: string): BadRequest => ({
  name,
  path: PATH,
  body: `{"model":"toy","prompt":"x",${text}}`,
  code,
  param,
});

const BAD: readonly BadRequest[] = [
  json('an empty body', ''),
  json('half an object', '{"a":'),
  json('JavaScript', '{a:1}'),
  json('a trailing comma', '{"model":"toy",}'),
  json('NaN', '{"n":NaN}'),
  json('null', 'null', 'invalid_type'),
  json('an array', '[]', 'invalid_type'),
  json('a string', '"x"', 'invalid_type'),
  json('a number', '5', 'invalid_type'),
  json('a byte order mark', '\ufeff{}'),
  json('bytes that are not UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)),
  json('UTF-16', new Uint8Array(Buffer.from('{"a":1}', 'utf16le'))),
  json('65 levels', `{"a":${nested(64)}}`),
  json('10,000 levels', `{"a":${nested(10_000)}}`),
  json('5,000,000 levels', `{"a":${nested(5_000_000)}}`),
  with_('the last of two keys counts', '"n":1,"n":1e9', 'integer_above_max_value', 'n'),
  with_('a number that is infinite', '"temperature":1e999', 'invalid_value', 'temperature'),
  with_('a number that is minus infinity', '"top_p":-1e999', 'invalid_value', 'top_p'),
  bad('no model', { model: undefined }, 'missing_required_parameter', 'model'),
  bad('an empty model', { model: '' }, 'empty_string', 'model'),
  bad('a model that is a number', { model: 123 }, 'invalid_type', 'model'),
  { ...bad('an unknown model', { model: 'gpt-4o' }, 'model_not_found', 'model'), status: 404 },
  {
    ...bad('a model with a path', { model: '../../etc/passwd' }, 'model_not_found', 'model'),
    status: 404,
  },
  { ...bad('a model with a NUL', { model: 'a\0b' }, 'model_not_found', 'model'), status: 404 },
  bad('temperature below 0', { temperature: -1 }, 'decimal_below_min_value', 'temperature'),
  bad('temperature above 2', { temperature: 2.1 }, 'decimal_above_max_value', 'temperature'),
  bad('temperature hot', { temperature: 'hot' }, 'invalid_type', 'temperature'),
  bad('temperature true', { temperature: true }, 'invalid_type', 'temperature'),
  bad('top_p 0', { top_p: 0 }, 'decimal_below_min_value', 'top_p'),
  bad('top_p above 1', { top_p: 1.01 }, 'decimal_above_max_value', 'top_p'),
  bad('top_p below 0', { top_p: -1 }, 'decimal_below_min_value', 'top_p'),
  bad('min_p 2', { min_p: 2 }, 'decimal_above_max_value', 'min_p'),
  bad('top_k -5', { top_k: -5 }, 'integer_below_min_value', 'top_k'),
  bad(
    'repetition_penalty 0',
    { repetition_penalty: 0 },
    'decimal_below_min_value',
    'repetition_penalty',
  ),
  bad(
    'repetition_penalty 1e30',
    { repetition_penalty: 1e30 },
    'decimal_above_max_value',
    'repetition_penalty',
  ),
  bad('presence_penalty 3', { presence_penalty: 3 }, 'decimal_above_max_value', 'presence_penalty'),
  bad('max_tokens 0', { max_tokens: 0 }, 'integer_below_min_value', 'max_tokens'),
  bad('max_tokens -1', { max_tokens: -1 }, 'integer_below_min_value', 'max_tokens'),
  bad('max_tokens 1.5', { max_tokens: 1.5 }, 'invalid_type', 'max_tokens'),
  bad('max_tokens 2^53', { max_tokens: 2 ** 53 }, 'integer_above_max_value', 'max_tokens'),
  bad('n 0', { n: 0 }, 'integer_below_min_value', 'n'),
  bad('n 1.5', { n: 1.5 }, 'invalid_type', 'n'),
  bad('n 129', { n: 129 }, 'integer_above_max_value', 'n'),
  bad('n 1e9', { n: 1e9 }, 'integer_above_max_value', 'n'),
  bad('five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'array_above_max_length', 'stop'),
  bad('an empty stop', { stop: '' }, 'empty_string', 'stop'),
  bad('an empty stop in a list', { stop: [''] }, 'empty_string', 'stop[0]'),
  bad('a stop that is a number', { stop: [1] }, 'invalid_type', 'stop[0]'),
  bad('a stop of a megabyte', { stop: 'x'.repeat(1 << 20) }, 'string_above_max_length', 'stop'),
  bad(
    'a bias for a token out of the vocabulary',
    { logit_bias: { 999999999: 1 } },
    'invalid_value',
    'logit_bias',
  ),
  bad('a bias for token -1', { logit_bias: { '-1': 1 } }, 'invalid_value'),
  bad('a bias for a word', { logit_bias: { abc: 1 } }, 'invalid_value', 'logit_bias.abc'),
  bad('a bias of 1e9', { logit_bias: { 5: 1e9 } }, 'decimal_above_max_value', 'logit_bias.5'),
  bad('a stream that is "yes"', { stream: 'yes' }, 'invalid_type', 'stream'),
  bad(
    'options of no stream',
    { stream_options: { include_usage: true } },
    'invalid_value',
    'stream_options',
  ),
  bad(
    'include_usage "x"',
    { stream: true, stream_options: { include_usage: 'x' } },
    'invalid_type',
    'stream_options.include_usage',
  ),
  bad('seed 1.5', { seed: 1.5 }, 'invalid_type', 'seed'),
  bad('seed "x"', { seed: 'x' }, 'invalid_type', 'seed'),
  bad('seed 2^63', { seed: 2 ** 63 }, 'integer_above_max_value', 'seed'),
  bad('no prompt', { prompt: undefined }, 'missing_required_parameter', 'prompt'),
  bad('a prompt that is null', { prompt: null }, 'invalid_type', 'prompt'),
  bad('no prompts', { prompt: [] }, 'empty_array', 'prompt'),
  bad('a prompt without ids', { prompt: [[]] }, 'empty_array', 'prompt[0]'),
  bad('an empty prompt', { prompt: '' }, 'empty_string', 'prompt'),
  bad('token -1', { prompt: [-1] }, 'integer_below_min_value', 'prompt[0]'),
  bad(
    'a token out of the vocabulary',
    { prompt: [tokenizer.vocabSize] },
    'invalid_value',
    'prompt',
  ),
  bad('token 1.5', { prompt: [1.5] }, 'invalid_type', 'prompt[0]'),
  bad('tokens and texts', { prompt: [1, 'a'] }, 'invalid_type', 'prompt[1]'),
  bad('ids and texts', { prompt: [[1], ['a']] }, 'invalid_type', 'prompt[1][0]'),
  bad('two million ids', { prompt: Array(2_000_000).fill(1) }, 'array_above_max_length', 'prompt'),
  bad('a text of 10 MB', { prompt: 'x'.repeat(10_000_000) }, 'string_above_max_length', 'prompt'),
  bad('too many prompts', { prompt: Array(33).fill('x') }, 'array_above_max_length', 'prompt'),
  bad('too many answers', { prompt: Array(5).fill('x'), n: 8 }, 'array_above_max_length', 'prompt'),
  bad('logprobs 6', { logprobs: 6 }, 'integer_above_max_value', 'logprobs'),
  bad('best_of below n', { n: 3, best_of: 2 }, 'unsupported_value', 'best_of'),
  bad('best_of', { best_of: 4, stream: true }, 'unsupported_value', 'best_of'),
  bad(
    'a gap for a model that cannot fill in',
    { model: 'org/plain', suffix: 'y' },
    'unsupported_value',
    'suffix',
  ),
  bad('a pattern that is broken', { guided_regex: '(' }, 'invalid_value', 'guided_regex'),
  bad('no choices', { guided_choice: [] }, 'empty_array', 'guided_choice'),
  bad('a grammar without a root', { guided_grammar: 'x ::= y' }, 'invalid_value', 'guided_grammar'),
  bad(
    'a grammar that recurs for ever',
    { guided_grammar: 'root ::= root' },
    'invalid_value',
    'guided_grammar',
  ),
  bad('two forms', { guided_regex: 'a', guided_choice: ['a'] }, 'invalid_value', 'guided_choice'),
  bad('a grammar', { grammar: 'root ::= "a"' }, 'unsupported_parameter', 'grammar'),
  bad(
    'a prompt longer than the context',
    { prompt: 'x '.repeat(600) },
    'context_length_exceeded',
    'prompt',
  ),
  bad(
    'the same in a stream',
    { prompt: 'x '.repeat(600), stream: true },
    'context_length_exceeded',
    'prompt',
  ),
  {
    name: 'tokens out of the vocabulary',
    path: '/detokenize',
    body: { tokens: [1e6] },
    code: 'invalid_value',
    param: 'tokens',
  },
  {
    name: 'no text to tokenize',
    path: '/tokenize',
    body: {},
    code: 'missing_required_parameter',
    param: 'content',
  },
  {
    name: 'a gap without a model that fills in',
    path: '/infill',
    body: { model: 'org/plain' },
    code: 'unsupported_value',
    param: 'model',
  },
  {
    name: 'another file that is a number',
    path: '/infill',
    body: { input_extra: [5] },
    code: 'invalid_type',
    param: 'input_extra[0]',
  },
];

interface Choice {
  index: number;
  text: string;
  logprobs: { tokens: string[]; token_logprobs: (number | null)[]; text_offset: number[] } | null;
  finish_reason: string | null;
}
interface Completion {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: Choice[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null;
}

async function ask(body: object): Promise<Completion> {
  const answer = await lab.fetch(PATH, { ...good, ...body });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as Completion;
}

async function stream(body: object): Promise<Completion[]> {
  const answer = await lab.fetch(PATH, { ...good, ...body, stream: true });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const text = await answer.text();
  assert.match(text, /\n\ndata: \[DONE\]\n\n$/);
  return eventsOf(text) as Completion[];
}

/** What a stream says, put together. */
function joined(events: readonly Completion[], index = 0): Choice {
  const parts = events.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
  const logprobs = parts.flatMap((part) => part.logprobs ?? []);
  return {
    index,
    text: parts.map(({ text }) => text).join(''),
    logprobs:
      logprobs.length === 0
        ? null
        : {
            tokens: logprobs.flatMap(({ tokens }) => tokens),
            token_logprobs: logprobs.flatMap(({ token_logprobs }) => token_logprobs),
            text_offset: logprobs.flatMap(({ text_offset }) => text_offset),
          },
    finish_reason: parts.at(-1)?.finish_reason ?? null,
  };
}

const wellFormed = (text = '') => Buffer.from(text).toString();

describe('bad requests for completions', () => {
  testBadRequests(BAD, () => lab, { path: PATH, body: good });

  test('keys of prototypes do nothing', async () => {
    const answer = await lab.fetch(
      PATH,
      '{"model":"toy","prompt":"x","__proto__":{"stream":true},"constructor":{"prototype":{"stream":true}}}',
    );
    assert.match(answer.headers.get('content-type') ?? '', /json/);
    assert.equal(({} as Record<string, unknown>)['stream'], undefined);
  });

  test('a prompt that is too long comes with both numbers', async () => {
    const answer = await lab.fetch(PATH, { ...good, prompt: Array(600).fill(5) });
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    assert.deepEqual([error.n_prompt_tokens, error.n_ctx], [600, 512]);
  });

  test('unknown fields, null and extreme values are taken', async () => {
    const odd = {
      user: 'u',
      unheard_of: { of: 1 },
      temperature: null,
      stop: null,
      top_k: 1e9,
      max_tokens: 1e9,
    };
    assert.equal((await ask(odd)).choices[0]?.text, TEXT);
    for (const temperature of [1e-30, 1e-308, 0])
      assert.equal((await ask({ temperature })).choices[0]?.text, TEXT);
    const bias = Object.fromEntries(
      Array.from({ length: tokenizer.vocabSize }, (_, id) => [id, -100]),
    );
    assert.equal((await ask({ logit_bias: bias })).choices[0]?.text, TEXT);
  });

  test('a lone surrogate is the replacement character, in a stream too', async () => {
    const body = '{"model":"toy","prompt":"\\ud800","echo":true';
    const whole = (await (await lab.fetch(PATH, `${body}}`)).json()) as Completion;
    assert.equal(wellFormed(whole.choices[0]?.text), `\ufffd${TEXT}`);
    const events = eventsOf(
      await (await lab.fetch(PATH, `${body},"stream":true}`)).text(),
    ) as Completion[];
    assert.equal(wellFormed(joined(events).text), `\ufffd${TEXT}`);
  });
});

describe('completions', () => {
  test('have OpenAI’s shape', async () => {
    const completion = await ask({});
    assert.match(completion.id, /^cmpl-[0-9a-f]{24}$/);
    assert.equal(completion.object, 'text_completion');
    assert.equal(completion.model, 'toy');
    assert.ok(Number.isInteger(completion.created));
    assert.deepEqual(completion.choices, [
      { index: 0, text: TEXT, logprobs: null, finish_reason: 'stop' },
    ]);
    const { prompt_tokens, completion_tokens, total_tokens } = completion.usage ?? {};
    assert.deepEqual([prompt_tokens, completion_tokens, total_tokens], [1, 7, 8]);
  });

  test('are the same in a stream: text, log probabilities, ends, usage', async () => {
    for (const body of [
      {},
      { logprobs: 2 },
      { echo: true },
      { echo: true, logprobs: 2, prompt: 'def add' },
      { echo: true, logprobs: 0, max_tokens: 0, prompt: 'def add(a, b)' },
      { echo: true, max_tokens: 0 },
      { max_tokens: 3 },
      { stop: ['world', 'zzz'] },
      { stop: ['é'], logprobs: 1 },
      { n: 2, prompt: ['a', 'b'] },
      { prompt: [[1, 2], [3]] },
      { suffix: 'tail' },
    ]) {
      const whole = await ask(body);
      const events = await stream({ ...body, stream_options: { include_usage: true } });
      for (const choice of whole.choices) {
        const { index, text, logprobs, finish_reason } = choice;
        const got = joined(events, index);
        assert.equal(got.text, text, JSON.stringify(body));
        assert.equal(got.finish_reason, finish_reason);
        assert.deepEqual(got.logprobs?.tokens, logprobs?.tokens);
        assert.deepEqual(got.logprobs?.token_logprobs, logprobs?.token_logprobs);
        assert.deepEqual(got.logprobs?.text_offset, logprobs?.text_offset);
        const ends = events
          .flatMap((event) => event.choices)
          .filter((c) => c.index === index && c.finish_reason);
        assert.equal(ends.length, 1, 'one end for each choice');
      }
      assert.deepEqual(events.at(-1)?.choices, []);
      assert.deepEqual(events.at(-1)?.usage, whole.usage);
      assert.ok(events.slice(0, -1).every(({ usage }) => usage === null));
      assert.equal(new Set(events.map(({ id }) => id)).size, 1);
    }
  });

  test('a stream says nothing of usage unless asked', async () => {
    for (const event of await stream({})) assert.ok(!('usage' in event));
  });

  test('choices are numbered by prompt, then by answer', async () => {
    const { choices } = await ask({ prompt: ['a', 'b', 'c'], n: 2, echo: true });
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1, 2, 3, 4, 5],
    );
    assert.deepEqual(
      choices.map(({ text }) => text[0]),
      ['a', 'a', 'b', 'b', 'c', 'c'],
    );
  });

  test('an echo with log probabilities scores the prompt: all tokens but the first', async () => {
    const { choices } = await ask({ prompt: 'def add(a', echo: true, logprobs: 1, max_tokens: 2 });
    const { text = '', logprobs } = choices[0] ?? {};
    assert.ok(text.startsWith('def add(a'));
    assert.equal(logprobs?.tokens.join(''), text);
    assert.equal(logprobs?.token_logprobs[0], null);
    assert.ok(logprobs?.token_logprobs.slice(1).every((x) => x !== null && x <= 0));
    assert.deepEqual(
      logprobs?.text_offset,
      logprobs?.tokens.map((_, i) => logprobs.tokens.slice(0, i).join('').length),
    );
  });

  test('the n-th answer has its own seed, the first the one that was given', async () => {
    engine.requests.length = 0;
    await ask({ n: 3, seed: 7 });
    const seeds = engine.requests.map(({ sampling }) => sampling.seed);
    assert.equal(seeds[0], 7);
    assert.equal(new Set(seeds).size, 3);
  });

  test('all seeds are whole numbers that a draw takes, and differ, whatever the first is', async () => {
    for (const seed of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 0]) {
      engine.requests.length = 0;
      await ask({ n: 8, seed });
      const seeds = engine.requests.map(({ sampling }) => sampling.seed);
      assert.equal(seeds[0], seed);
      assert.equal(new Set(seeds).size, 8);
      assert.ok(seeds.every(Number.isSafeInteger), seeds.join());
    }
  });

  test('run with the priority of the port', async () => {
    engine.requests.length = 0;
    await ask({});
    assert.deepEqual(
      engine.requests.map(({ priority }) => priority),
      ['port'],
    );
  });

  test('a stop string that never comes whole is text', async () => {
    assert.equal((await ask({ stop: ['!?'] })).choices[0]?.text, TEXT);
  });

  test('text that looks like an event stays text', async () => {
    const tricky = new ScriptedEngine({ text: 'a\n\ndata: [DONE]\n\nb' });
    const other = await startLab([served(tricky, 'toy')]);
    const text = await (await other.fetch(PATH, { ...good, stream: true })).text();
    assert.equal(joined(eventsOf(text) as Completion[]).text, 'a\n\ndata: [DONE]\n\nb');
    assert.equal(text.match(/^data: \[DONE\]$/gm)?.length, 1);
    await other.server.close();
  });

  test('a failing engine is 500 without retries; in a stream an error event, never an end', async () => {
    engine.failure = new EngineError('internal', 'logits are not numbers');
    const whole = await lab.fetch(PATH, good);
    assert.equal(whole.status, 500);
    assert.equal(whole.headers.get('x-should-retry'), 'false');
    for (const n of [1, 3]) {
      const text = await (await lab.fetch(PATH, { ...good, n, stream: true })).text();
      const events = eventsOf(text) as { error?: { code: string }; choices?: Choice[] }[];
      assert.equal(events.at(-1)?.error?.code, 'engine_error');
      assert.ok(events.every(({ choices }) => (choices?.[0]?.finish_reason ?? null) === null));
    }
    engine.failure = null;
    assert.equal((await ask({})).choices[0]?.text, TEXT);
  });
});

test('when one answer fails, the stream tells of no end of the others', async () => {
  class SecondFails extends ScriptedEngine {
    override generate(request: EngineRequest): Promise<GenerateResult> {
      if (this.requests.length === 0) return super.generate(request);
      return Promise.reject(new EngineError('internal', 'broken'));
    }
  }
  const engine = new SecondFails({ text: TEXT, msPerToken: 1 });
  const lab = await startLab([served(engine, 'toy')]);
  const text = await (await lab.fetch(PATH, { ...good, n: 2, stream: true })).text();
  await lab.server.close();
  const events = eventsOf(text) as { error?: { code: string }; choices?: Choice[] }[];
  assert.equal(events.at(-1)?.error?.code, 'engine_error');
  assert.ok(
    events.every(({ choices }) => (choices?.[0]?.finish_reason ?? null) === null),
    text,
  );
});

describe('completions of a given form', () => {
  const text = async (body: object) =>
    (await ask({ max_tokens: 100, ...body })).choices[0]?.text ?? '';

  test('match a pattern, are one of the choices, are JSON, or follow a grammar', async () => {
    assert.match(await text({ guided_regex: '[a-c]{3}-[0-9]' }), /^[a-c]{3}-[0-9]$/);
    assert.ok(['yes', 'no'].includes(await text({ guided_choice: ['yes', 'no'] })));
    assert.equal(
      typeof JSON.parse(await text({ guided_json: { type: 'integer', maximum: 9, minimum: 0 } })),
      'number',
    );
    assert.equal(
      await text({ guided_grammar: 'root ::= "a" ("b" | "c") "d"' }).then((x) =>
        /^a[bc]d$/.test(x),
      ),
      true,
    );
    assert.equal(
      typeof JSON.parse(await text({ response_format: { type: 'json_object' } })),
      'object',
    );
  });
});

describe('tokens', () => {
  test('go there and back', async () => {
    const content = 'héllo <|endoftext|>\n';
    const { tokens } = (await (await lab.fetch('/tokenize', { content })).json()) as {
      tokens: number[];
    };
    assert.deepEqual(tokens, tokenizer.encode(content));
    const answer = await lab.fetch('/detokenize', { tokens });
    assert.deepEqual(await answer.json(), { content });
  });

  test('control tokens in a text are text unless asked for', async () => {
    const control = tokenizer.controlTexts[0] ?? '';
    const ask = async (parse_special: boolean) =>
      (
        (await (await lab.fetch('/tokenize', { content: control, parse_special })).json()) as {
          tokens: number[];
        }
      ).tokens;
    assert.ok((await ask(false)).every((id) => !tokenizer.isSpecial(id)));
    assert.deepEqual(await ask(true), [tokenizer.specialId(control)]);
  });

  test('have pieces, bytes where a character is split', async () => {
    const answer = await lab.fetch('/tokenize', { content: 'a\u{1f47e}', with_pieces: true });
    const { tokens } = (await answer.json()) as { tokens: { piece: string | number[] }[] };
    const bytes = tokens.flatMap(({ piece }) =>
      typeof piece === 'string' ? [...Buffer.from(piece)] : piece,
    );
    assert.equal(Buffer.from(bytes).toString(), 'a\u{1f47e}');
  });
});

describe('infill', () => {
  test('asks with the model’s own tokens, cuts to the context, and streams', async () => {
    engine.requests.length = 0;
    const body = {
      input_prefix: 'a '.repeat(3000),
      input_suffix: 'b '.repeat(3000),
      input_extra: [{ text: 'c' }],
    };
    const whole = (await (await lab.fetch('/infill', body)).json()) as {
      content: string;
      stop: boolean;
    };
    assert.equal(whole.content, TEXT);
    const [request] = engine.requests;
    assert.ok((request?.ids.length ?? 0) + (request?.maxTokens ?? 0) <= 512);
    assert.ok(request?.ids.some((id) => tokenizer.isSpecial(id)));
    const events = eventsOf(
      await (await lab.fetch('/infill', { ...body, stream: true })).text(),
    ) as { content: string; stop: boolean }[];
    assert.equal(events.map(({ content }) => content).join(''), TEXT);
    assert.deepEqual(
      events.map(({ stop }) => stop),
      [...events.slice(1).map(() => false), true],
    );
  });
});
