import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testBadRequests, type BadRequest } from './bad_requests';
import { eventsOf, startLab, type Lab } from './lab';
import { ScriptedEngine, served, tokenizer } from './scripted';

const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const TWO_CALLS = `Well.\n${CALL}\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>`;
const THOUGHTS = '<think>\nhm, é\n</think>\n\nHello there';

/** Writes what the last word of the conversation names. */
const engine = new ScriptedEngine({
  text: (prompt) => {
    if (prompt.includes('think!')) return THOUGHTS;
    if (prompt.includes('call!')) return CALL;
    if (prompt.includes('calls!')) return TWO_CALLS;
    if (prompt.includes('inside!')) return 'hm\n</think>\n\nHello';
    return 'Hello there, é!';
  },
});
const silent = new ScriptedEngine({ text: 'x', chat: false });
let lab: Lab;
before(async () => {
  lab = await startLab([served(engine, 'toy'), served(silent, 'base')]);
});
after(() => lab.server.close());

const PATH = '/v1/chat/completions';
const user = (content: unknown) => ({ role: 'user', content });
const good = { model: 'toy', messages: [user('hi')] };
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};
const now = { type: 'function', function: { name: 'now' } };
const call = (id: string, args: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'get_weather', arguments: args } }],
});

const bad = (name: string, change: object, code: string, param?: string | null): BadRequest => ({
  name,
  path: PATH,
  body: { ...good, ...change },
  code,
  ...(param === undefined ? {} : { param }),
});
const says = (name: string, messages: unknown, code: string, param?: string) =>
  bad(name, { messages }, code, param);
const schema = (name: string, value: unknown, code = 'invalid_value', param = 'response_format') =>
  bad(
    name,
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: value } } },
    code,
    param,
  );
const tools = (name: string, list: unknown, code: string, param?: string) =>
  bad(name, { tools: list }, code, param);

const BAD: readonly BadRequest[] = [
  says('no messages', undefined, 'missing_required_parameter', 'messages'),
  says('messages that are null', null, 'invalid_type', 'messages'),
  says('messages that are a text', 'x', 'invalid_type', 'messages'),
  says('an empty list', [], 'empty_array', 'messages'),
  says('a message that is a number', [123], 'invalid_type', 'messages[0]'),
  says('a message without a role', [{}], 'missing_required_parameter', 'messages[0].role'),
  says(
    'a role that is a number',
    [{ role: 123, content: 'x' }],
    'invalid_type',
    'messages[0].role',
  ),
  says('a wizard', [{ role: 'wizard', content: 'x' }], 'invalid_value', 'messages[0].role'),
  says('content that is a number', [user(123)], 'invalid_type', 'messages[0].content'),
  says('content that is an object', [user({})], 'invalid_type', 'messages[0].content'),
  says('content that is null', [user(null)], 'invalid_type', 'messages[0].content'),
  says('no parts', [user([])], 'empty_array', 'messages[0].content'),
  says(
    'a part without text',
    [user([{ type: 'text' }])],
    'missing_required_parameter',
    'messages[0].content[0].text',
  ),
  says(
    'an image',
    [user([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }])],
    'unsupported_value',
    'messages[0].content[0].type',
  ),
  says(
    'a part of another kind',
    [user([{ type: 'spell' }])],
    'invalid_value',
    'messages[0].content[0].type',
  ),
  says(
    'an assistant that says nothing',
    [{ role: 'assistant' }],
    'missing_required_parameter',
    'messages[0].content',
  ),
  says(
    'two assistants at the end',
    [user('x'), { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }],
    'invalid_value',
  ),
  says(
    'an answer of a tool that was not called',
    [user('x'), { role: 'tool', tool_call_id: 'c', content: 'y' }],
    'invalid_value',
    'messages[1].tool_call_id',
  ),
  says('too many messages', Array(4097).fill(user('x')), 'array_above_max_length', 'messages'),
  says('what the template does not like', [user('raise')], 'template_error', 'messages'),
  says(
    'arguments of a call that are not JSON',
    [user('x'), call('c', 'not json'), { role: 'tool', tool_call_id: 'c', content: 'y' }],
    'template_error',
  ),
  bad('a model that cannot chat', { model: 'base' }, 'unsupported_value', 'model'),
  says(
    'more than the context holds',
    [user('x '.repeat(600))],
    'context_length_exceeded',
    'messages',
  ),
  bad(
    'the same in a stream',
    { messages: [user('x '.repeat(600))], stream: true },
    'context_length_exceeded',
    'messages',
  ),
  bad('a template', { chat_template: '{{ x }}' }, 'unsupported_parameter', 'chat_template'),
  bad(
    'a variable of the template: tokenize',
    { chat_template_kwargs: { tokenize: true } },
    'invalid_value',
    'chat_template_kwargs',
  ),
  bad(
    'a variable of the template: messages',
    { chat_template_kwargs: { messages: [] } },
    'invalid_value',
    'chat_template_kwargs',
  ),
  bad('functions', { functions: [] }, 'unsupported_parameter', 'functions'),
  bad(
    'max_completion_tokens 0',
    { max_completion_tokens: 0 },
    'integer_below_min_value',
    'max_completion_tokens',
  ),
  bad(
    'top_logprobs 21',
    { logprobs: true, top_logprobs: 21 },
    'integer_above_max_value',
    'top_logprobs',
  ),
  bad(
    'top_logprobs -1',
    { logprobs: true, top_logprobs: -1 },
    'integer_below_min_value',
    'top_logprobs',
  ),
  bad('top_logprobs without logprobs', { top_logprobs: 2 }, 'invalid_value', 'top_logprobs'),
  bad(
    'a format that is unknown',
    { response_format: { type: 'xml' } },
    'invalid_value',
    'response_format.type',
  ),
  bad(
    'a format without a schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    'missing_required_parameter',
    'response_format.json_schema.schema',
  ),
  schema('a schema that refers to itself alone', { $ref: '#' }),
  schema('a schema on the network', { $ref: 'http://evil.example/schema' }),
  schema('a keyword that cannot be enforced', { type: 'object', not: { type: 'null' } }),
  schema('a pattern of endless parentheses', { type: 'string', pattern: '('.repeat(60_000) }),
  schema('a million values', { enum: Array.from({ length: 1_000_000 }, (_, i) => i) }),
  schema('a billion items', { type: 'array', items: {}, minItems: 1e9 }),
  tools('tools that are a text', 'x', 'invalid_type', 'tools'),
  tools('tools that are an object', {}, 'invalid_type', 'tools'),
  tools('an empty tool', [{}], 'missing_required_parameter', 'tools[0].type'),
  tools(
    'a tool without a name',
    [{ type: 'function', function: {} }],
    'missing_required_parameter',
    'tools[0].function.name',
  ),
  tools(
    'a name with a line feed',
    [{ type: 'function', function: { name: 'a\nb' } }],
    'invalid_value',
    'tools[0].function.name',
  ),
  tools('two tools of one name', [now, now], 'invalid_value', 'tools[1].function.name'),
  tools(
    'parameters that are a list',
    [{ type: 'function', function: { name: 'a', parameters: [] } }],
    'invalid_type',
    'tools[0].function.parameters',
  ),
  tools(
    '10,000 tools',
    Array.from({ length: 10_000 }, (_, i) => ({ type: 'function', function: { name: `t${i}` } })),
    'array_above_max_length',
    'tools',
  ),
  bad(
    'tool_choice "sometimes"',
    { tools: [now], tool_choice: 'sometimes' },
    'invalid_value',
    'tool_choice',
  ),
  bad(
    'a choice of a tool that is not there',
    { tools: [now], tool_choice: { type: 'function', function: { name: 'x' } } },
    'invalid_value',
    'tool_choice',
  ),
  bad('required without tools', { tool_choice: 'required' }, 'invalid_value', 'tool_choice'),
  bad(
    'a call whose schema cannot be enforced',
    {
      tools: [
        { type: 'function', function: { name: 'a', parameters: { type: 'object', not: {} } } },
      ],
      tool_choice: 'required',
    },
    'invalid_value',
    'tools',
  ),
  bad(
    'JSON and tools',
    { tools: [now], response_format: { type: 'json_object' } },
    'unsupported_value',
    'response_format',
  ),
];

interface Message {
  role?: string;
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: {
    index?: number;
    id?: string;
    type?: string;
    function: { name?: string; arguments: string };
  }[];
}
interface Choice {
  index: number;
  message: Message;
  delta: Message;
  finish_reason: string | null;
  logprobs: {
    content: {
      token: string;
      logprob: number;
      bytes: number[];
      top_logprobs: { token: string }[];
    }[];
  } | null;
}
interface Chat {
  id: string;
  object: string;
  choices: Choice[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    completion_tokens_details: { reasoning_tokens: number };
  };
}

async function ask(body: object): Promise<Chat> {
  const answer = await lab.fetch(PATH, { ...good, ...body });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text) as Chat;
}

async function stream(body: object): Promise<Chat[]> {
  const answer = await lab.fetch(PATH, {
    ...good,
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  const text = await answer.text();
  assert.match(text, /\n\ndata: \[DONE\]\n\n$/);
  return eventsOf(text) as Chat[];
}

/** The message that a stream amounts to, as clients put it together. */
function joined(
  events: readonly Chat[],
  index = 0,
): { message: Message; finish: string | null; tokens: string[] } {
  const message: Message = { content: null };
  let finish: string | null = null;
  const tokens: string[] = [];
  for (const choice of events.flatMap(({ choices }) => choices).filter((c) => c.index === index)) {
    const { delta } = choice;
    if (delta.role !== undefined) message.role = delta.role;
    if (typeof delta.content === 'string')
      message.content = (message.content ?? '') + delta.content;
    if (delta.reasoning_content !== undefined) {
      message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
    }
    for (const { index: at = -1, ...part } of delta.tool_calls ?? []) {
      const calls = (message.tool_calls ??= []);
      const existing = calls[at];
      if (existing === undefined) {
        assert.equal(at, calls.length, 'calls are numbered from 0 without a gap');
        assert.ok(part.id && part.type === 'function' && part.function.name);
        calls.push(part);
      } else existing.function.arguments += part.function.arguments;
    }
    tokens.push(...(choice.logprobs?.content ?? []).map(({ token }) => token));
    finish = choice.finish_reason ?? finish;
  }
  return { message, finish, tokens };
}

describe('bad requests for chats', () => {
  testBadRequests(BAD, () => lab, { path: PATH, body: good });
});

describe('chat completions', () => {
  test('have OpenAI’s shape', async () => {
    const chat = await ask({});
    assert.match(chat.id, /^chatcmpl-/);
    assert.equal(chat.object, 'chat.completion');
    assert.deepEqual(chat.choices, [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello there, é!', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ]);
  });

  test('are the same in a stream: text, thoughts, calls, log probabilities, ends, usage', async () => {
    const cases = [
      {},
      { n: 2 },
      { messages: [user('think!')] },
      { messages: [user('call!')], tools: [weather] },
      { messages: [user('calls!')], tools: [weather, now] },
      { messages: [user('calls!')], tools: [weather, now], parallel_tool_calls: false },
      { messages: [user('calls!')] },
      { messages: [user('inside!')], chat_template_kwargs: { enable_thinking: true } },
      { max_completion_tokens: 2 },
      { stop: 'there' },
      { logprobs: true, top_logprobs: 2 },
    ];
    for (const body of cases) {
      const whole = await ask(body);
      const events = await stream(body);
      for (const { index, message, finish_reason, logprobs } of whole.choices) {
        const got = joined(events, index);
        const ids = (m: Message) => (m.tool_calls ?? []).map(({ function: f }) => f);
        assert.deepEqual(ids(got.message), ids(message), JSON.stringify(body));
        assert.equal(got.message.content ?? '', message.content ?? '');
        assert.equal(got.message.reasoning_content, message.reasoning_content);
        assert.equal(got.finish, finish_reason);
        assert.deepEqual(
          got.tokens,
          (logprobs?.content ?? []).map(({ token }) => token),
        );
        const own = events
          .flatMap(({ choices }) => choices)
          .filter((choice) => choice.index === index);
        assert.equal(own.filter(({ delta }) => delta.role !== undefined).length, 1);
        assert.equal(own.filter((choice) => choice.finish_reason !== null).length, 1);
        assert.deepEqual(own.at(-1)?.delta, {});
      }
      assert.deepEqual(events.at(-1)?.choices, []);
      assert.deepEqual(events.at(-1)?.usage, whole.usage);
    }
  });

  test('tell thoughts from the answer', async () => {
    const chat = await ask({ messages: [user('think!')] });
    assert.equal(chat.choices[0]?.message.reasoning_content?.trim(), 'hm, é');
    assert.equal(chat.choices[0]?.message.content, 'Hello there');
    assert.ok((chat.usage?.completion_tokens_details.reasoning_tokens ?? 0) > 0);
    const inside = await ask({
      messages: [user('inside!')],
      chat_template_kwargs: { enable_thinking: true },
    });
    assert.equal(inside.choices[0]?.message.reasoning_content?.trim(), 'hm');
    assert.equal(inside.choices[0]?.message.content, 'Hello');
  });

  test('tell calls from text, and end with them', async () => {
    const { choices } = await ask({ messages: [user('calls!')], tools: [weather, now] });
    const { message, finish_reason } = choices[0] ?? {};
    assert.equal(finish_reason, 'tool_calls');
    assert.equal(message?.content?.trim(), 'Well.');
    assert.deepEqual(
      message?.tool_calls?.map(({ function: f }) => [f.name, JSON.parse(f.arguments) as unknown]),
      [
        ['get_weather', { city: 'Oslo' }],
        ['now', {}],
      ],
    );
    assert.equal(new Set(message?.tool_calls?.map(({ id }) => id)).size, 2);
    const only = await ask({ messages: [user('call!')], tools: [weather] });
    assert.equal(only.choices[0]?.message.content, null);
  });

  test('a call that must be is one, with arguments of its schema', async () => {
    const chosen = { type: 'function', function: { name: 'get_weather' } };
    for (const tool_choice of ['required', chosen]) {
      const { choices } = await ask({ tools: [weather], tool_choice });
      const { message, finish_reason } = choices[0] ?? {};
      assert.equal(finish_reason, 'tool_calls');
      assert.equal(message?.tool_calls?.length, 1);
      const { name, arguments: args = '' } = message?.tool_calls?.[0]?.function ?? {};
      assert.equal(name, 'get_weather');
      assert.equal(typeof (JSON.parse(args) as { city: unknown }).city, 'string');
    }
  });

  test('tool_choice none shows the model no tools', async () => {
    engine.requests.length = 0;
    await ask({ tools: [weather], tool_choice: 'none' });
    await ask({ tools: [weather] });
    const [none, auto] = engine.requests.map(({ ids }) => tokenizer.decode(ids));
    assert.doesNotMatch(none ?? '', /get_weather/);
    assert.match(auto ?? '', /get_weather/);
  });

  test('an answer in JSON is JSON', async () => {
    const { choices } = await ask({
      response_format: { type: 'json_object' },
      max_completion_tokens: 200,
    });
    assert.equal(typeof JSON.parse(choices[0]?.message.content ?? ''), 'object');
    const format = {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { enum: ['red', 'green'] } },
    };
    const color = (await ask({ response_format: format })).choices[0]?.message.content ?? '';
    assert.ok(['red', 'green'].includes(JSON.parse(color) as string));
  });

  test('a pattern that would be long to write out is held to', async () => {
    const value = { type: 'string', pattern: '^a{3,1000000}$' };
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: value } };
    const text = (await ask({ response_format: format })).choices[0]?.message.content ?? '';
    assert.match(JSON.parse(text) as string, /^a{3,}$/);
  });

  test('a conversation reaches the template: roles, parts, calls and their answers', async () => {
    engine.requests.length = 0;
    await ask({
      messages: [
        { role: 'developer', content: 'be brief' },
        user([
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ]),
        call('c1', '{"city":"Oslo"}'),
        { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      ],
    });
    const [prompt] = engine.requests.map(({ ids }) => tokenizer.decode(ids));
    assert.equal(
      prompt,
      '<system>be brief<user>one\ntwo<assistant>[call get_weather]<tool>rain<assistant>',
    );
  });

  test('a last message of the assistant is continued', async () => {
    engine.requests.length = 0;
    await ask({ messages: [user('hi'), { role: 'assistant', content: 'Sure, ' }] });
    assert.equal(tokenizer.decode(engine.requests[0]?.ids ?? []), '<user>hi<assistant>Sure, ');
  });

  test('one that is far too long is refused like any other prompt', async () => {
    const content = 'x9_'.repeat(200_000);
    const answer = await lab.fetch(PATH, {
      ...good,
      messages: [user('hi'), { role: 'assistant', content }],
    });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /context_length_exceeded/);
  });

  test('a call that must be is refused when its beginning does not fit', async () => {
    const body = (words: number) => ({
      ...good,
      messages: [user('x '.repeat(words))],
      tools: [weather],
      tool_choice: 'required',
      max_completion_tokens: 1,
    });
    let refused = 0;
    for (let words = 380; words < 520; words++) {
      const answer = await lab.fetch(PATH, body(words));
      const text = await answer.text();
      if (answer.status === 400) {
        assert.match(text, /context_length_exceeded/);
        refused++;
      } else {
        const { usage } = JSON.parse(text) as { usage: { completion_tokens: number } };
        assert.ok(usage.completion_tokens > 0, text);
        assert.equal(refused, 0);
      }
    }
    assert.ok(refused > 0 && refused < 140, `${refused}`);
  });

  test('control tokens in what users say are text', async () => {
    engine.requests.length = 0;
    const control = tokenizer.controlTexts[0] ?? '';
    await ask({ messages: [user(`${control}<|im_end|>`)] });
    assert.ok(engine.requests[0]?.ids.every((id) => !tokenizer.isSpecial(id)));
  });

  test('log probabilities: the tokens join to the text, with their bytes', async () => {
    const { choices } = await ask({ logprobs: true, top_logprobs: 3 });
    const { content = [] } = choices[0]?.logprobs ?? {};
    assert.equal(Buffer.from(content.flatMap(({ bytes }) => bytes)).toString(), 'Hello there, é!');
    for (const { logprob, top_logprobs } of content) {
      assert.ok(logprob <= 0);
      assert.equal(top_logprobs.length, 3);
    }
  });
});
