import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import type { Response as OpenAiResponse } from 'openai/resources/responses/responses';
import { testBadRequests, type BadRequest } from './bad_requests';
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
let lab: Lab;
let client: OpenAI;
before(async () => {
  lab = await startLab([served(engine, 'toy')]);
  client = new OpenAI({ baseURL: `${lab.base}/v1`, apiKey: TOKEN });
});
after(() => lab.server.close());

const good = { model: 'toy', input: 'hi' };
const tools = [
  {
    type: 'function' as const,
    name: 'get_weather',
    strict: false,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
];
/** What is new each time, and what the client's stream helper adds when it has parsed. */
const LEFT_OUT = ['id', 'call_id', 'parsed', 'parsed_arguments'];
const essence = ({ output, status }: OpenAiResponse) =>
  JSON.parse(
    JSON.stringify({ output, status }, (key, value: unknown) =>
      LEFT_OUT.includes(key) ? undefined : value,
    ),
  ) as unknown;

describe('/v1/responses with the official client', () => {
  test('answers, with the tokens', async () => {
    const response = await client.responses.create({ ...good, instructions: 'be brief' });
    assert.match(response.id, /^resp_/);
    assert.equal(response.status, 'completed');
    assert.equal(response.output_text, 'Hello, wörld 👾!');
    assert.ok((response.usage?.input_tokens ?? 0) > 3 && (response.usage?.output_tokens ?? 0) > 3);
    assert.equal(
      tokenizer.decode(engine.requests.at(-1)?.ids ?? []),
      '<system>be brief<user>hi<assistant>',
    );
  });

  test('streams the same: text, thoughts, calls, ends', async () => {
    const cases = [
      good,
      { ...good, input: 'think!' },
      { ...good, input: 'call!', tools },
      { ...good, input: 'call!', tools, parallel_tool_calls: false },
      { ...good, max_output_tokens: 2 },
      { ...good, tools, tool_choice: 'required' as const },
    ];
    for (const params of cases) {
      const whole = await client.responses.create(params);
      const stream = client.responses.stream(params);
      const numbers: number[] = [];
      let text = '';
      stream.on('event', ({ sequence_number }) => numbers.push(sequence_number));
      stream.on('response.output_text.delta', ({ delta }) => (text += delta));
      const streamed = await stream.finalResponse();
      assert.deepEqual(essence(streamed), essence(whole), JSON.stringify(params));
      assert.equal(text, whole.output_text);
      assert.deepEqual(numbers, [...numbers.keys()]);
      assert.deepEqual(streamed.usage, whole.usage);
    }
    const cut = await client.responses.create({ ...good, max_output_tokens: 2 });
    assert.deepEqual(
      [cut.status, cut.incomplete_details?.reason],
      ['incomplete', 'max_output_tokens'],
    );
  });

  test('calls a function and takes its result', async () => {
    const asked = await client.responses.create({ ...good, input: 'call!', tools });
    const calls = asked.output.filter((item) => item.type === 'function_call');
    assert.deepEqual(
      calls.map(({ name, arguments: args }): unknown[] => [name, JSON.parse(args)]),
      Array(2).fill(['get_weather', { city: 'Oslo' }]),
    );
    const answer = await client.responses.create({
      ...good,
      tools,
      input: [
        { role: 'user', content: 'call!' },
        ...calls,
        ...calls.map(({ call_id }) => ({
          type: 'function_call_output' as const,
          call_id,
          output: 'rain!',
        })),
      ],
    });
    assert.equal(answer.output_text, 'It rains.');
    const prompt = tokenizer.decode(engine.requests.at(-1)?.ids ?? []);
    assert.match(
      prompt,
      /<assistant>\[call get_weather\]\[call get_weather\]<tool>rain!<tool>rain!<assistant>$/,
    );
  });

  test('holds the answer to a schema', async () => {
    const format = {
      type: 'json_schema' as const,
      name: 'color',
      schema: { enum: ['red', 'green'] },
    };
    const { output_text } = await client.responses.create({ ...good, text: { format } });
    assert.ok(['red', 'green'].includes(JSON.parse(output_text) as string));
  });

  test('a failing engine is an error event', async () => {
    engine.failure = new Error('broken');
    const stream = await client.responses.create({ ...good, stream: true });
    const types: string[] = [];
    await assert.rejects(async () => {
      for await (const event of stream) {
        types.push(event.type);
        if (event.type === 'error') throw new Error(event.code ?? '');
      }
    }, /engine_error|failed/);
    engine.failure = null;
    assert.ok(!types.includes('response.completed'));
  });
});

describe('/v1/responses refuses', () => {
  const bad = (name: string, change: object, code: string, param: string): BadRequest => ({
    name,
    path: '/v1/responses',
    body: { ...good, ...change },
    code,
    param,
  });
  testBadRequests(
    [
      bad('no input', { input: undefined }, 'missing_required_parameter', 'input'),
      bad('no items', { input: [] }, 'empty_array', 'input'),
      bad(
        'a stored answer',
        { previous_response_id: 'resp_1' },
        'unsupported_parameter',
        'previous_response_id',
      ),
      bad(
        'an image',
        { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
        'invalid_value',
        'input[0].content[0].type',
      ),
      bad(
        'a result of no call',
        { input: [{ type: 'function_call_output', call_id: 'x', output: 'y' }] },
        'invalid_value',
        'input[0].call_id',
      ),
      bad(
        'a tool of OpenAI’s own',
        { tools: [{ type: 'web_search' }] },
        'invalid_value',
        'tools[0].type',
      ),
      bad('a choice without tools', { tool_choice: 'required' }, 'invalid_value', 'tool_choice'),
      bad(
        'a schema that cannot be enforced',
        { text: { format: { type: 'json_schema', name: 'x', schema: { not: {} } } } },
        'invalid_value',
        'text.format',
      ),
      bad(
        'more than the context',
        { input: 'x '.repeat(600), stream: true },
        'context_length_exceeded',
        'messages',
      ),
    ],
    () => lab,
    { path: '/v1/responses', body: good },
  );
});
