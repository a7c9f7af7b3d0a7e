/** LangChain's JavaScript packages against the server: their main calls. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { AIMessageChunk } from '@langchain/core/messages';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from '@langchain/openai';
import * as z from 'zod';
import { until } from '../../until';
import { startLab, TOKEN, type Lab } from './lab';
import { ScriptedEngine, served } from './scripted';

const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const engine = new ScriptedEngine({
  text: (prompt) => {
    if (prompt.includes('rain!')) return 'It rains.';
    if (prompt.includes('call!')) return CALL;
    return 'Hello, wörld 👾!';
  },
});
const slow = new ScriptedEngine({ text: 'word '.repeat(150), msPerToken: 5 });
let lab: Lab;
before(async () => {
  lab = await startLab([served(engine, 'toy'), served(slow, 'slow')]);
});
after(() => lab.server.close());

const shared = (model: string) => ({
  model,
  apiKey: TOKEN,
  maxRetries: 0,
  configuration: { baseURL: `${lab.base}/v1` },
});
const chat = (model = 'toy') => new ChatOpenAI(shared(model));

const weather = tool(async ({ city }) => `rain! in ${city}`, {
  name: 'get_weather',
  description: 'weather',
  schema: z.object({ city: z.string() }),
});

describe('LangChain', () => {
  test('chats, with usage', async () => {
    const message = await chat().invoke('hi');
    assert.equal(message.content, 'Hello, wörld 👾!');
    const usage = message.usage_metadata as { readonly total_tokens: number } | undefined;
    assert.ok((usage?.total_tokens ?? 0) > 5);
  });

  test('streams through a chain of prompt, model and parser', async () => {
    const prompt = ChatPromptTemplate.fromMessages([['human', 'say hello to {who}']]);
    const chain = prompt.pipe(chat()).pipe(new StringOutputParser());
    let text = '';
    let parts = 0;
    for await (const part of await chain.stream({ who: 'all' })) {
      text += part;
      parts++;
    }
    assert.equal(text, 'Hello, wörld 👾!');
    assert.ok(parts > 3);
  });

  test('gets calls, streamed or not, runs the tool and answers', async () => {
    const model = chat().bindTools([weather]);
    const question = new HumanMessage('call!');
    const whole = await model.invoke([question]);
    let streamed: AIMessageChunk | undefined;
    for await (const part of await model.stream([question]))
      streamed = streamed === undefined ? part : streamed.concat(part);
    for (const message of [whole, streamed]) {
      const [call] = message?.tool_calls ?? [];
      assert.deepEqual([call?.name, call?.args], ['get_weather', { city: 'Oslo' }]);
    }
    const [call] = whole.tool_calls ?? [];
    assert.ok(call?.id !== undefined);
    const result: unknown = await weather.invoke({ ...call, type: 'tool_call' });
    assert.ok(result instanceof ToolMessage);
    const answer = await model.invoke([question, whole, result]);
    assert.equal(answer.content, 'It rains.');
  });

  test('structured output is of its schema', async () => {
    const schema = z.object({ color: z.enum(['red', 'blue']) });
    const model = chat().withStructuredOutput(schema, { name: 'c', method: 'jsonSchema' });
    const { color } = await model.invoke('x');
    assert.ok(['red', 'blue'].includes(color));
  });

  test('continues a text', async () => {
    const model = new OpenAI({ ...shared('toy'), maxTokens: 20 });
    assert.equal(await model.invoke('x'), 'Hello, wörld 👾!');
  });

  test('embeds texts and a question', async () => {
    const embeddings = new OpenAIEmbeddings(shared('toy'));
    const [first, second] = await embeddings.embedDocuments(['one', 'another text']);
    assert.equal(first?.length, engine.embeddingSize);
    assert.notDeepEqual(first, second);
    assert.deepEqual(await embeddings.embedQuery('one'), first);
  });

  test('an abort ends the answer', async () => {
    const controller = new AbortController();
    const stream = await chat('slow').stream('x', { signal: controller.signal });
    await assert.rejects(async () => {
      for await (const part of stream) if (part.content !== '') controller.abort();
    });
    await until('the end of the answer', () => slow.running === 0);
  });

  test('a wrong request raises the error of its class', async () => {
    const model = new ChatOpenAI({ ...shared('toy'), temperature: 9 });
    await assert.rejects(model.invoke('x'), { status: 400, code: 'decimal_above_max_value' });
  });
});
