import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { chat } from '../../../extension/engine/chat/chat';
import type { ChatEngine } from '../../../extension/engine/chat/engine';
import type { EngineRequest } from '../../../extension/engine/engine';
import { ChatTemplate } from '../../../extension/engine/loading/chat_template';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { MODEL_SAMPLING, type ChatPart, type ChatRequest } from '../../../extension/protocol/chat';
import { FIXTURES, SPROUT } from '../loading/model_fixture';

const tokenizer = loadTokenizer(SPROUT);
const template = (source: string): ChatTemplate =>
  ChatTemplate.of('chat_template.jinja', source, { eos_token: '<|endoftext|>' }, tokenizer);
const QWEN = readFileSync(join(FIXTURES, 'templates/qwen3/chat_template.jinja'), 'utf8');
const PLAIN = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}';

/** An engine that answers with `answer`, five characters at a time, and keeps what it was asked. */
class Lab implements ChatEngine {
  readonly info = { contextLength: 2048, title: 'Lab model' };
  readonly tokenizer = tokenizer;
  readonly generationConfig = { sampling: { temperature: 0.25 } };
  asked: EngineRequest | null = null;

  constructor(
    readonly chat: ChatTemplate | null,
    private readonly answer: string,
  ) {}

  async generate(request: EngineRequest): ReturnType<ChatEngine['generate']> {
    this.asked = request;
    let text = '';
    for (const [delta] of this.answer.matchAll(/.{1,5}/gsu)) {
      if (request.signal?.aborted) break;
      request.onText?.(delta);
      text += delta;
    }
    return {
      text,
      ids: [1, 2, 3],
      finishReason: request.signal?.aborted ? 'cancelled' : 'stop',
      promptTokens: request.ids.length,
      cachedTokens: 7,
      timings: { queueMs: 1, prefillMs: 2, decodeMs: 3 },
    };
  }

  get prompt(): string {
    return tokenizer.decode(this.asked?.ids ?? []);
  }
}

const ask = (request: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content: 'What is here?' }],
  tools: [],
  toolChoice: 'auto',
  sampling: MODEL_SAMPLING,
  thinking: 'auto',
  maxTokens: 64,
  ...request,
});
const TOOL = {
  name: 'list_dir',
  description: 'Lists a folder',
  parameters: '{"type":"object","properties":{"path":{"type":"string"}}}',
};

async function run(lab: Lab, request: ChatRequest) {
  const parts: ChatPart[] = [];
  const result = await chat(lab, request, { onPart: (part) => parts.push(part) });
  const joined = (kind: 'text' | 'reasoning') =>
    parts.map((part) => (part.kind === kind ? part.text : '')).join('');
  return { result, parts, text: joined('text'), reasoning: joined('reasoning') };
}

describe('chat', () => {
  it('tells the prompt first, then thoughts and text, then usage', async () => {
    const lab = new Lab(template(QWEN), '<think>\nfiles?\n</think>\n\nTwo files.');
    const { result, parts, text, reasoning } = await run(lab, ask());
    assert.equal(parts[0]?.kind, 'prompt');
    assert.deepEqual([reasoning, text], ['files?\n', 'Two files.']);
    assert.equal(result.finish, 'stop');
    assert.deepEqual(result.usage, {
      promptTokens: lab.asked?.ids.length,
      cachedTokens: 7,
      generatedTokens: 3,
    });
    assert.match(
      lab.prompt,
      /<\|im_start\|>user\nWhat is here\?<\|im_end\|>\n<\|im_start\|>assistant\n$/,
    );
    assert.equal(lab.asked?.priority, 'chat');
  });

  it('samples as the request says, else as the model’s authors say', async () => {
    const lab = new Lab(template(QWEN), 'x');
    await run(lab, ask());
    assert.equal(lab.asked?.sampling.temperature, 0.25);
    await run(lab, ask({ sampling: { ...MODEL_SAMPLING, temperature: 0, seed: 5 } }));
    assert.deepEqual([lab.asked.sampling.temperature, lab.asked.sampling.seed], [0, 5]);
  });

  it('gives tools to a template that knows them and reads the calls', async () => {
    const answer = '<tool_call>\n{"name": "list_dir", "arguments": {"path": "/"}}\n</tool_call>';
    const lab = new Lab(template(QWEN), answer);
    const { result, parts, text } = await run(lab, ask({ tools: [TOOL] }));
    assert.match(lab.prompt, /<tools>\n\{"type": ?"function", ?"function": ?\{"name": ?"list_dir"/);
    const call = parts.find((part) => part.kind === 'toolCall')?.call;
    assert.deepEqual([call?.name, call?.arguments], ['list_dir', '{"path":"/"}']);
    assert.deepEqual([result.finish, text], ['tool_calls', '']);
  });

  it('must call when a call is required: the call begins for it, its thoughts closed, and a grammar holds it', async () => {
    const answer = '<tool_call>\n{"name": "list_dir", "arguments": {"path": "/"}}\n</tool_call>';
    const lab = new Lab(template(`${QWEN}{{ '<think>\n' }}`), `\n</think>\n\n${answer}`);
    const other = { ...TOOL, name: 'read_file' };
    const request = ask({ tools: [TOOL, other], toolChoice: 'required', maxTokens: 64 });
    const { result, parts } = await run(lab, request);
    const forced = lab.asked?.forcedIds ?? [];
    assert.equal(tokenizer.decode(forced), '\n</think>\n\n<tool_call>\n');
    assert.deepEqual(lab.asked?.grammar, {
      type: 'json_schema',
      schema: {
        anyOf: ['list_dir', 'read_file'].map((name) => ({
          type: 'object',
          properties: { name: { const: name }, arguments: JSON.parse(TOOL.parameters) as object },
          required: ['name', 'arguments'],
          additionalProperties: false,
        })),
      },
    });
    assert.equal(lab.asked.maxTokens, 64 + forced.length);
    assert.equal(result.finish, 'tool_calls');
    assert.equal(parts.filter(({ kind }) => kind === 'toolCall').length, 1);
  });

  it('writes tools, calls and results as text for a template that knows none', async () => {
    const lab = new Lab(template(PLAIN), 'ok');
    const call = { id: 'c1', name: 'list_dir', arguments: '{"path":"/"}' };
    await run(
      lab,
      ask({
        tools: [TOOL],
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: '', reasoning: '', toolCalls: [call] },
          { role: 'tool', content: 'a.ts', toolCallId: 'c1', name: 'list_dir' },
        ],
      }),
    );
    assert.match(lab.prompt, /^\[system\]Be brief\.\n\nYou may call[^]*"name":"list_dir"/);
    assert.match(
      lab.prompt,
      /\[assistant\]<tool_call>\n\{"name": "list_dir", "arguments": \{"path":"\/"\}\}\n<\/tool_call>/,
    );
    assert.match(lab.prompt, /\[user\]<tool_response>\na\.ts\n<\/tool_response>$/);
  });

  it('folds system messages and doubled users for a template that refuses them', async () => {
    const strict =
      '{% if messages[0].role == "system" %}{{ raise_exception("no system") }}{% endif %}' + PLAIN;
    const lab = new Lab(template(strict), 'ok');
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One.' },
      { role: 'user', content: 'Two.' },
    ] as const;
    await run(lab, ask({ messages }));
    assert.equal(lab.prompt, '[user]Be brief.\n\nOne.\n\nTwo.');
  });

  it('says which model cannot chat, and what to do', async () => {
    await assert.rejects(chat(new Lab(null, ''), ask()), {
      code: 'unsupported',
      message: /Lab model has no chat template.*choose an instruct model/,
    });
  });

  it('refuses tools whose parameters are no JSON object, by name', async () => {
    const tools = [{ ...TOOL, parameters: '[1]' }];
    await assert.rejects(chat(new Lab(template(QWEN), ''), ask({ tools })), {
      code: 'bad_request',
      message: 'tool list_dir: parameters: expected a JSON object, got [1]',
    });
  });

  it('leaves out the oldest turns of a long conversation and says so', async () => {
    const long = Array.from({ length: 6 }, (_, index) => [
      { role: 'user', content: `question ${index} ${'word '.repeat(400)}` } as const,
      { role: 'assistant', content: `answer ${index}`, reasoning: '', toolCalls: [] } as const,
    ]).flat();
    const messages = [...long, { role: 'user', content: 'Last.' } as const];
    const lab = new Lab(template(QWEN), 'ok');
    const { parts } = await run(lab, ask({ messages }));
    const prompt = parts[0];
    assert(prompt?.kind === 'prompt' && prompt.cut !== null);
    assert(prompt.promptTokens <= 2048 - 64);
    assert(prompt.cut.messages > 0 && prompt.cut.wantedTokens > 2048);
    assert.doesNotMatch(lab.prompt, /question 0/);
    assert.match(lab.prompt, /question 5[^]*Last\./);
  });

  it('ends as cancelled with what there is', async () => {
    const controller = new AbortController();
    const lab = new Lab(template(QWEN), 'one two three four');
    let text = '';
    const result = await chat(lab, ask(), {
      signal: controller.signal,
      onPart: (part) => {
        if (part.kind === 'text') text += part.text;
        if (text.length > 5) controller.abort();
      },
    });
    assert.equal(result.finish, 'cancelled');
    assert(text.length < 18);
  });
});
