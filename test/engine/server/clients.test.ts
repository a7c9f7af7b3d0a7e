/** The clients that people use, against the server: their own types and checks say whether the shapes are right. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText, tool } from 'ai';
import OpenAI from 'openai';
import * as z from 'zod';
import { until } from '../../until';
import { startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served } from './scripted';

const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const engine = new ScriptedEngine({
  text: (prompt) => {
    if (prompt.includes('rain!')) return 'It rains.';
    if (prompt.includes('call!')) return CALL;
    if (prompt.includes('think!')) return '<think>hm hm</think>Hello';
    return 'Hello, wörld 👾!';
  },
});
const slow = new ScriptedEngine({ text: 'word '.repeat(150), msPerToken: 5 });
let lab: Lab;
let client: OpenAI;
before(async () => {
  lab = await startLab([served(engine, 'toy'), served(slow, 'slow')]);
  client = new OpenAI({ baseURL: `${lab.base}/v1`, apiKey: TOKEN });
});
after(() => lab.server.close());

const say = (content: string) => [{ role: 'user' as const, content }];
const functionOf = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

describe('openai', () => {
  test('chats', async () => {
    const chat = await client.chat.completions.create({ model: 'toy', messages: say('hi') });
    assert.equal(chat.choices[0]?.message.content, 'Hello, wörld 👾!');
    assert.ok((chat.usage?.total_tokens ?? 0) > 5);
  });

  test('streams, with its helper that puts the message together', async () => {
    const stream = client.chat.completions.stream({
      model: 'toy',
      messages: say('hi'),
      stream_options: { include_usage: true },
    });
    const chat = await stream.finalChatCompletion();
    assert.equal(chat.choices[0]?.message.content, 'Hello, wörld 👾!');
    assert.equal(chat.choices[0]?.finish_reason, 'stop');
    assert.ok((chat.usage?.completion_tokens ?? 0) > 3);
  });

  test('gets calls, streamed or not, and answers them', async () => {
    const params = { model: 'toy', messages: say('call!'), tools: [functionOf] };
    const whole = await client.chat.completions.create(params);
    const streamed = await client.chat.completions.stream(params).finalChatCompletion();
    for (const chat of [whole, streamed]) {
      const call = chat.choices[0]?.message.tool_calls?.[0];
      assert.ok(call?.type === 'function');
      assert.equal(call.function.name, 'get_weather');
      assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Oslo' });
    }
    const { message } = whole.choices[0] ?? {};
    assert.ok(message);
    const id = message.tool_calls?.[0]?.id ?? '';
    const answer = await client.chat.completions.create({
      ...params,
      messages: [...params.messages, message, { role: 'tool', tool_call_id: id, content: 'rain!' }],
    });
    assert.equal(answer.choices[0]?.message.content, 'It rains.');
  });

  test('gets log probabilities', async () => {
    const params = { model: 'toy', messages: say('hi'), logprobs: true, top_logprobs: 2 };
    const chat = await client.chat.completions.create(params);
    const tokens = chat.choices[0]?.logprobs?.content ?? [];
    assert.equal(
      Buffer.from(tokens.flatMap(({ bytes }) => bytes ?? [])).toString(),
      'Hello, wörld 👾!',
    );
  });

  test('raises the error of its class, and does not try again in vain', async () => {
    const before = lab.log.length;
    await assert.rejects(
      client.chat.completions.create({ model: 'toy', messages: say('x'), temperature: 9 }),
      (error: unknown) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.deepEqual(
          [error.code, error.param, error.type],
          ['decimal_above_max_value', 'temperature', 'invalid_request_error'],
        );
        assert.match(error.requestID ?? '', /^req_[0-9a-f]{24}$/);
        return true;
      },
    );
    await assert.rejects(client.models.retrieve('nothing'), OpenAI.NotFoundError);
    const stranger = new OpenAI({ baseURL: `${lab.base}/v1`, apiKey: 'wrong' });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(lab.log.length - before, 3);
  });

  test('leaves a loop, and the answer ends', async () => {
    const stream = await client.chat.completions.create({
      model: 'slow',
      messages: say('x'),
      stream: true,
    });
    for await (const part of stream) if (part.choices[0]?.delta.content) break;
    await until('the end of the answer', () => slow.running === 0);
  });

  test('holds the answer to a schema', async () => {
    const schema = {
      type: 'object',
      properties: { color: { enum: ['red', 'blue'] } },
      required: ['color'],
      additionalProperties: false,
    };
    const chat = await client.chat.completions.create({
      model: 'toy',
      messages: say('x'),
      response_format: { type: 'json_schema', json_schema: { name: 'c', schema } },
    });
    const { color } = JSON.parse(chat.choices[0]?.message.content ?? '') as { color: string };
    assert.ok(['red', 'blue'].includes(color));
  });
});

describe('the AI SDK of Vercel', () => {
  const provider = () =>
    createOpenAICompatible({
      name: 'anllm',
      baseURL: `${lab.base}/v1`,
      apiKey: TOKEN,
      includeUsage: true,
    });

  test('generates text, with the thoughts apart', async () => {
    const { text, reasoningText, usage, finishReason } = await generateText({
      model: provider()('toy'),
      prompt: 'think!',
    });
    assert.equal(text, 'Hello');
    assert.equal(reasoningText?.trim(), 'hm hm');
    assert.equal(finishReason, 'stop');
    assert.ok((usage.outputTokens ?? 0) > 0);
  });

  test('streams text and thoughts', async () => {
    const result = streamText({ model: provider()('toy'), prompt: 'think!' });
    let text = '';
    for await (const part of result.textStream) text += part;
    assert.equal(text, 'Hello');
    assert.equal((await result.reasoningText)?.trim(), 'hm hm');
    assert.ok(((await result.usage).inputTokens ?? 0) > 0);
  });

  test('runs a tool', async () => {
    const get_weather = tool({
      description: 'weather',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `rain! in ${city}`,
    });
    const result = await generateText({
      model: provider()('toy'),
      prompt: 'call!',
      tools: { get_weather },
    });
    assert.deepEqual(
      result.toolResults.map(({ output }) => output),
      ['rain! in Oslo'],
    );
  });
});
