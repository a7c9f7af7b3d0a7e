import { randomUUID } from 'node:crypto';
import type {
  ChatEnd,
  ChatMessage,
  ChatRequest,
  ChatResult,
  ToolDefinition,
} from '../../protocol/chat';
import type { ChatRunOptions } from '../chat/chat';
import { TOKENS_AROUND, fitMessages, promptRoom, textOf } from '../chat/fit';
import { functionOf } from '../chat/template_messages';
import { ReasoningSplitter } from '../generation/reasoning';
import { isObjectText } from '../generation/tools/call_parser';
import type { Endpoint } from './endpoint';
import { jsonEvents } from './events';
import { estimateTokens } from './tokens';

const PATH = '/v1/chat/completions';

interface Delta {
  readonly content?: string | null;
  /** vLLM and llama.cpp; OpenRouter and Ollama say `reasoning`. */
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly tool_calls?: readonly ToolCallDelta[];
}
interface ToolCallDelta {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}
interface Chunk {
  readonly choices?: readonly { readonly delta?: Delta; readonly finish_reason?: string | null }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  } | null;
}

/** Answers a conversation by asking a server. An abort resolves with the end 'cancelled'. Throws EngineError. */
export async function remoteChat(
  endpoint: Endpoint,
  model: string,
  contextLength: number,
  request: ChatRequest,
  { signal, onPart = () => undefined }: ChatRunOptions,
): Promise<ChatResult> {
  const started = performance.now();
  const room = promptRoom(contextLength, request.maxTokens);
  const { prompt, messages, cut } = fitMessages(request.messages, {
    room,
    encode: (some) => ({ length: sizeOfAll(some, request.tools) }),
    sizeOf,
    tools: request.tools.length,
  });
  onPart({ kind: 'prompt', promptTokens: prompt.length, contextLength, cut });
  const body = bodyOf(model, { ...request, messages });
  const reader = new AnswerReader(onPart);
  let firstMs = 0;
  try {
    const stream = await endpoint.stream(PATH, body, signal ?? new AbortController().signal);
    for await (const event of jsonEvents(stream, `${endpoint.base}${PATH}`)) {
      if (firstMs === 0) firstMs = performance.now() - started;
      reader.read(event as Chunk);
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
  const end = reader.finish();
  const totalMs = performance.now() - started;
  return {
    finish: signal?.aborted === true ? 'cancelled' : end,
    usage: {
      promptTokens: reader.usage?.prompt_tokens ?? prompt.length,
      cachedTokens: reader.usage?.prompt_tokens_details?.cached_tokens ?? 0,
      generatedTokens: reader.usage?.completion_tokens ?? reader.chunks,
    },
    timings: { queueMs: 0, prefillMs: firstMs, decodeMs: totalMs - firstMs, totalMs },
  };
}

function sizeOfAll(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): number {
  const tooling = tools.reduce(
    (sum, { name, description, parameters }) =>
      sum + estimateTokens(name + description + parameters),
    0,
  );
  return messages.reduce((sum, message) => sum + sizeOf(message), tooling);
}

function sizeOf(message: ChatMessage): number {
  return estimateTokens(textOf(message)) + TOKENS_AROUND;
}

function bodyOf(
  model: string,
  { messages, tools, toolChoice, sampling, thinking, maxTokens }: ChatRequest,
): object {
  const { temperature, topP, seed } = sampling;
  return {
    model,
    messages: messages.map(messageOf),
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(seed === null ? {} : { seed }),
    ...(tools.length === 0 ? {} : { tools: tools.map(functionOf), tool_choice: toolChoice }),
    ...(thinking === 'auto'
      ? {}
      : { chat_template_kwargs: { enable_thinking: thinking === 'on' } }),
  };
}

function messageOf(message: ChatMessage): object {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'tool':
      return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
    case 'assistant': {
      const { content, toolCalls } = message;
      const calls = toolCalls.map(({ id, name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      }));
      return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
  }
}

/** Turns the chunks of an answer into parts. */
class AnswerReader {
  chunks = 0;
  usage: Chunk['usage'] = null;
  private end: ChatEnd = 'stop';
  private readonly calls = new Map<number, { id: string; name: string; arguments: string }>();
  /** Servers that do not know the model's thoughts send them as text. */
  private readonly splitter = new ReasoningSplitter(false);

  constructor(private readonly onPart: NonNullable<ChatRunOptions['onPart']>) {}

  read({ choices, usage }: Chunk): void {
    if (usage) this.usage = usage;
    const [choice] = choices ?? [];
    if (choice === undefined) return;
    const { content, reasoning_content, reasoning, tool_calls = [] } = choice.delta ?? {};
    const thought = reasoning_content ?? reasoning ?? '';
    if (thought !== '') this.onPart({ kind: 'reasoning', text: thought });
    if (typeof content === 'string' && content !== '') {
      for (const part of this.splitter.push(content)) this.onPart(part);
    }
    if (thought !== '' || (content ?? '') !== '') this.chunks++;
    for (const call of tool_calls ?? []) this.addCall(call);
    if (choice.finish_reason === 'length') this.end = 'length';
  }

  finish(): ChatEnd {
    for (const part of this.splitter.flush()) this.onPart(part);
    let calls = 0;
    for (const call of this.calls.values()) {
      // No arguments are none; what is no call is shown as it came, as of a model on this computer.
      const args = call.arguments.trim() === '' ? '{}' : call.arguments;
      if (call.name !== '' && isObjectText(args)) {
        calls++;
        this.onPart({ kind: 'toolCall', call: { ...call, arguments: args } });
      } else {
        this.onPart({ kind: 'text', text: `${call.name}(${call.arguments})` });
      }
    }
    return calls > 0 && this.end === 'stop' ? 'tool_calls' : this.end;
  }

  private addCall({ index = this.calls.size, id, function: part }: ToolCallDelta): void {
    const call = this.calls.get(index) ?? { id: `call_${randomUUID()}`, name: '', arguments: '' };
    if (id !== undefined && id !== '') call.id = id;
    call.name += part?.name ?? '';
    call.arguments += part?.arguments ?? '';
    this.calls.set(index, call);
  }
}
