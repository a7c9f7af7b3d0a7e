import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { openRemote } from '../../../extension/engine/remote/remote_engine';
import { type ChatPart, type ChatRequest, MODEL_SAMPLING } from '../../../extension/protocol/chat';
import { type Answer, events, FakeServer, json, models } from './fake_server';

let server: FakeServer;
afterEach(() => server.close());

async function ask(answer: Answer, request: Partial<ChatRequest> = {}, contextLength = 4096) {
  server = await FakeServer.start({
    'GET /v1/models': models('chatty'),
    'POST /v1/chat/completions': answer,
  });
  const settings = {
    url: server.url,
    model: '',
    apiKey: '',
    fim: 'suffix',
    contextLength,
  } as const;
  const engine = await openRemote(settings, () => {});
  const parts: ChatPart[] = [];
  const result = await engine.chat(
    {
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      toolChoice: 'auto',
      sampling: MODEL_SAMPLING,
      thinking: 'auto',
      maxTokens: 200,
      ...request,
    },
    { onPart: (part) => parts.push(part) },
  );
  return { parts, result, body: server.of('/v1/chat/completions')[0]?.body ?? {} };
}

const delta = (value: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: finish }],
});
const textOf = (parts: readonly ChatPart[], kind: 'text' | 'reasoning') =>
  parts.map((part) => (part.kind === kind ? part.text : '')).join('');

describe('chat on a remote server', () => {
  test('text and usage', async () => {
    const usage = {
      prompt_tokens: 11,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 5 },
    };
    const { parts, result, body } = await ask(
      events([
        delta({ role: 'assistant' }),
        delta({ content: 'Hi ' }),
        delta({ content: 'é!' }, 'stop'),
        { choices: [], usage },
      ]),
    );
    assert.equal(parts[0]?.kind, 'prompt');
    assert.equal(textOf(parts, 'text'), 'Hi é!');
    assert.equal(result.finish, 'stop');
    assert.deepEqual(result.usage, { promptTokens: 11, cachedTokens: 5, generatedTokens: 3 });
    assert.deepEqual(body.messages, [{ role: 'user', content: 'hello' }]);
    assert.equal(body.temperature, undefined);
  });

  test('thoughts, whether the server knows them or not', async () => {
    const known = await ask(
      events([delta({ reasoning_content: 'hm' }), delta({ content: 'yes' }, 'stop')]),
    );
    assert.equal(textOf(known.parts, 'reasoning'), 'hm');
    assert.equal(textOf(known.parts, 'text'), 'yes');
    await server.close();
    const raw = await ask(
      events([delta({ content: '<think>hm</th' }), delta({ content: 'ink>\n\nyes' }, 'stop')]),
    );
    assert.equal(textOf(raw.parts, 'reasoning').trim(), 'hm');
    assert.equal(textOf(raw.parts, 'text').trim(), 'yes');
  });

  test('a call without arguments has none, and what is no call is text', async () => {
    const call = (index: number, text: string) =>
      delta({
        tool_calls: [{ index, id: `c${index}`, function: { name: 'read', arguments: text } }],
      });
    const tool = { name: 'read', description: 'reads', parameters: '{"type":"object"}' };
    const { parts, result } = await ask(
      events([call(0, ''), call(1, '{"path": '), call(2, '[1]'), delta({}, 'tool_calls')]),
      { tools: [tool] },
    );
    assert.equal(result.finish, 'tool_calls');
    assert.deepEqual(
      parts.flatMap((part) => (part.kind === 'toolCall' ? part.call.arguments : [])),
      ['{}'],
    );
    assert.equal(
      parts
        .map((part) => (part.kind === 'text' ? part.text : ''))
        .join(' ')
        .trim(),
      'read({"path": ) read([1])',
    );
  });

  test('tool calls in pieces', async () => {
    const call = (index: number, id: string | undefined, name: string | undefined, text: string) =>
      delta({ tool_calls: [{ index, id, function: { name, arguments: text } }] });
    const tool = { name: 'read', description: 'reads', parameters: '{"type":"object"}' };
    const { parts, result, body } = await ask(
      events([
        call(0, 'a', 'read', '{"pa'),
        call(0, undefined, undefined, 'th":1}'),
        call(1, 'b', 'read', '{}'),
        delta({}, 'tool_calls'),
      ]),
      { tools: [tool] },
    );
    assert.equal(result.finish, 'tool_calls');
    assert.deepEqual(
      parts.filter((part) => part.kind === 'toolCall').map(({ call: c }) => c),
      [
        { id: 'a', name: 'read', arguments: '{"path":1}' },
        { id: 'b', name: 'read', arguments: '{}' },
      ],
    );
    const [sent] = body.tools as { function: { parameters: unknown } }[];
    assert.deepEqual(sent?.function.parameters, { type: 'object' });
  });

  test('turns that do not fit are left out, and it is told', async () => {
    const long = 'word '.repeat(400);
    const { parts, body } = await ask(
      events([delta({ content: 'ok' }, 'length')]),
      {
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: long },
          { role: 'assistant', content: long, reasoning: '', toolCalls: [] },
          { role: 'user', content: 'and now?' },
        ],
      },
      800,
    );
    const [prompt] = parts;
    assert.ok(prompt?.kind === 'prompt' && prompt.cut?.messages === 2);
    assert.deepEqual(body.messages, [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'and now?' },
    ]);
  });

  test('an error of the server is one line with the address', async () => {
    await assert.rejects(ask(json(400, { error: { message: 'no template' } })), {
      code: 'bad_request',
      message: /127\.0\.0\.1.*HTTP 400: no template/,
    });
  });
});
