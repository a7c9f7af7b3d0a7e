import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { until } from '../../until';
import { startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served, tokenizer } from './scripted';

const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const engine = new ScriptedEngine({
  text: (prompt) => {
    if (prompt.includes('rain!')) return 'It rains.';
    if (prompt.includes('call!')) return `Let me see.\n${CALL}\n${CALL}`;
    if (prompt.includes('think!')) return '<think>hm hm</think>Hello';
    return 'Hello, wörld 👾!';
  },
});
const slow = new ScriptedEngine({ text: 'word '.repeat(150), msPerToken: 5 });
let lab: Lab;
let client: Anthropic;
before(async () => {
  lab = await startLab([served(engine, 'toy'), served(slow, 'slow')]);
  client = new Anthropic({ baseURL: lab.base, apiKey: TOKEN });
});
after(() => lab.server.close());

const say = (content: string) => [{ role: 'user' as const, content }];
const good = { model: 'toy', max_tokens: 100, messages: say('hi') };
const tools: Anthropic.Tool[] = [
  {
    name: 'get_weather',
    input_schema: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
];
/** The parts of an answer without its numbers. */
const essence = ({ content, stop_reason, stop_sequence }: Anthropic.Message) => ({
  content: content.map((block) => (block.type === 'tool_use' ? { ...block, id: '' } : block)),
  stop_reason,
  stop_sequence,
});

describe('/v1/messages with Anthropic’s client', () => {
  test('answers, with the tokens', async () => {
    const message = await client.messages.create({ ...good, system: 'be brief' });
    assert.match(message.id, /^msg_/);
    assert.deepEqual(message.content, [{ type: 'text', text: 'Hello, wörld 👾!' }]);
    assert.equal(message.stop_reason, 'end_turn');
    assert.ok(message.usage.input_tokens > 3 && message.usage.output_tokens > 3);
    assert.equal(
      tokenizer.decode(engine.requests.at(-1)?.ids ?? []),
      '<system>be brief<user>hi<assistant>',
    );
  });

  test('streams the same: text, thoughts, calls, ends', async () => {
    const cases = [
      good,
      {
        ...good,
        messages: say('think!'),
        thinking: { type: 'enabled' as const, budget_tokens: 1024 },
      },
      { ...good, messages: say('call!'), tools },
      {
        ...good,
        messages: say('call!'),
        tools,
        tool_choice: { type: 'auto' as const, disable_parallel_tool_use: true },
      },
      { ...good, max_tokens: 2 },
      { ...good, stop_sequences: ['wör'] },
      { ...good, tools, tool_choice: { type: 'any' as const } },
    ];
    for (const params of cases) {
      const whole = await client.messages.create(params);
      const streamed = await client.messages.stream(params).finalMessage();
      assert.deepEqual(essence(streamed), essence(whole), JSON.stringify(params));
      assert.equal(streamed.usage.output_tokens, whole.usage.output_tokens);
    }
  });

  test('names what ended the answer', async () => {
    const reason = async (change: object) => {
      const { stop_reason, stop_sequence } = await client.messages.create({ ...good, ...change });
      return [stop_reason, stop_sequence];
    };
    assert.deepEqual(await reason({}), ['end_turn', null]);
    assert.deepEqual(await reason({ max_tokens: 2 }), ['max_tokens', null]);
    assert.deepEqual(await reason({ stop_sequences: ['zzz', 'wör'] }), ['stop_sequence', 'wör']);
    assert.deepEqual(await reason({ messages: say('call!'), tools }), ['tool_use', null]);
  });

  test('calls a tool and takes its result', async () => {
    const asked = await client.messages.create({ ...good, messages: say('call!'), tools });
    const uses = asked.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual(
      uses.map(({ name, input }) => [name, input]),
      Array(2).fill(['get_weather', { city: 'Oslo' }]),
    );
    const results = uses.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'rain!',
    }));
    const answer = await client.messages.create({
      ...good,
      tools,
      messages: [
        ...say('call!'),
        { role: 'assistant', content: asked.content },
        { role: 'user', content: results },
      ],
    });
    assert.deepEqual(answer.content, [{ type: 'text', text: 'It rains.' }]);
  });

  test('counts the tokens of the prompt that it would send', async () => {
    const { model, messages } = good;
    const { input_tokens } = await client.messages.countTokens({
      model,
      messages,
      system: 'be brief',
      tools,
    });
    const message = await client.messages.create({ ...good, system: 'be brief', tools });
    const { input_tokens: sent, cache_read_input_tokens: cached } = message.usage;
    assert.equal(input_tokens, sent + (cached ?? 0));
  });

  test('leaves a stream, and the answer ends', async () => {
    const stream = await client.messages.create({
      ...good,
      model: 'slow',
      max_tokens: 300,
      stream: true,
    });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    await until('the end of the answer', () => slow.running === 0);
  });

  test('a failing engine is an error event, and no end', async () => {
    engine.failure = new Error('broken');
    const stream = client.messages.stream(good);
    await assert.rejects(stream.finalMessage(), /api_error|failed/);
    engine.failure = null;
  });
});

describe('/v1/messages refuses in Anthropic’s words', () => {
  const rows: readonly (readonly [string, object, string, string | null])[] = [
    ['no max_tokens', { max_tokens: undefined }, 'missing_required_parameter', 'max_tokens'],
    ['max_tokens 0', { max_tokens: 0 }, 'integer_below_min_value', 'max_tokens'],
    [
      'a system message among the others',
      { messages: [{ role: 'system', content: 'x' }] },
      'invalid_value',
      'messages[0].role',
    ],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] },
      'invalid_value',
      'messages[0].content[0].type',
    ],
    [
      'a result of no call',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x' }] }] },
      'invalid_value',
      'messages[0].content[0].tool_use_id',
    ],
    [
      'five stops',
      { stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
      'array_above_max_length',
      'stop_sequences',
    ],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'invalid_value', 'tool_choice'],
    [
      'more than the context',
      { messages: say('x '.repeat(600)), stream: true },
      'context_length_exceeded',
      'messages',
    ],
  ];
  for (const [name, change, code, param] of rows) {
    test(name, async () => {
      const answer = await lab.fetch('/v1/messages', { ...good, ...change });
      const body = (await answer.json()) as { type: string; error: Record<string, unknown> };
      assert.equal(answer.status, 400);
      assert.equal(body.type, 'error');
      const { type, code: got, param: at, message } = body.error;
      assert.deepEqual([type, got, at], ['invalid_request_error', code, param], String(message));
      assert.equal((await lab.fetch('/v1/messages', good)).status, 200);
    });
  }

  test('errors have the client’s classes', async () => {
    await assert.rejects(
      client.messages.create({ ...good, model: 'nothing' }),
      Anthropic.NotFoundError,
    );
    const stranger = new Anthropic({ baseURL: lab.base, apiKey: 'wrong' });
    await assert.rejects(stranger.messages.create(good), Anthropic.AuthenticationError);
  });
});
