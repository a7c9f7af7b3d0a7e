import { randomUUID } from 'node:crypto';
import type { ChatPart, ChatRequest, ChatResult, ChatSampling } from '../../protocol/chat';
import { EngineError } from '../errors';
import { answerParser } from '../generation/answer_parser';
import type { AnswerParser, AnswerPart } from '../generation/answer_part';
import { THINK_START } from '../generation/reasoning';
import { GREEDY, type SamplingParams } from '../generation/types';
import { unlessCancelled } from '../generation/unless_cancelled';
import type { ChatOptions } from '../loading/chat_template';
import type { SamplingDefaults } from '../loading/generation_config';
import type { ChatEngine } from './engine';
import { forceCall } from './forced_call';
import { TOKENS_AROUND, fitMessages, lastTurn, promptRoom, textOf, tooLong } from './fit';
import { strictTurns, templateInput } from './template_messages';

export interface ChatRunOptions {
  readonly signal?: AbortSignal;
  readonly onPart?: (part: ChatPart) => void;
}

/** For models whose authors recommend nothing: lively, and steady enough for code. */
const DEFAULT_SAMPLING = { temperature: 0.6, topP: 0.95 } as const;

/**
 * Answers the last message of a conversation. An abort resolves with the end 'cancelled'. Throws EngineError
 * unsupported for a model without chat template, bad_request when the last turn does not fit the context or a tool that
 * must be called cannot be.
 */
export async function chat(
  engine: ChatEngine,
  request: ChatRequest,
  { signal, onPart = () => undefined }: ChatRunOptions = {},
): Promise<ChatResult> {
  const started = performance.now();
  const { contextLength } = engine.info;
  const room = promptRoom(contextLength, request.maxTokens);
  await readAhead(engine, request, room);
  const { prompt: ids, cut } = fitMessages(request.messages, {
    room,
    encode: encoder(engine, request),
    sizeOf: (message) => engine.tokenizer.encode(textOf(message)).length + TOKENS_AROUND,
    tools: request.tools.length,
  });
  onPart({ kind: 'prompt', promptTokens: ids.length, contextLength, cut });
  const isThinking = thinksAtOnce(engine, ids);
  const writer = new PartWriter(engine, request, isThinking, onPart);
  const forced =
    request.toolChoice === 'required'
      ? forceCall(engine.tokenizer, request.tools, { isThinking, ...knowledgeOf(engine) })
      : null;
  const forcedTokens = forced?.forcedIds.length ?? 0;
  const running = engine.generate({
    ids,
    ...forced,
    maxTokens: Math.min(forcedTokens + request.maxTokens, contextLength - ids.length),
    sampling: samplingOf(request.sampling, engine.generationConfig.sampling),
    stop: [],
    priority: 'chat',
    ...(signal ? { signal } : {}),
    onText: (delta) => writer.push(delta),
  });
  const generated = await unlessCancelled(running);
  writer.flush();
  const calls = generated?.finishReason === 'stop' && writer.calls > 0;
  return {
    finish: calls ? 'tool_calls' : (generated?.finishReason ?? 'cancelled'),
    usage: {
      promptTokens: ids.length,
      cachedTokens: generated?.cachedTokens ?? 0,
      generatedTokens: Math.max(0, (generated?.ids.length ?? 0) - forcedTokens),
    },
    timings: {
      queueMs: generated?.timings.queueMs ?? 0,
      prefillMs: generated?.timings.prefillMs ?? 0,
      decodeMs: generated?.timings.decodeMs ?? 0,
      totalMs: performance.now() - started,
    },
  };
}

/** Long texts become tokens while others work; a last turn that cannot fit is refused before that. */
async function readAhead(
  { tokenizer }: ChatEngine,
  { messages, tools }: ChatRequest,
  room: number,
): Promise<void> {
  const last = lastTurn(messages).reduce(
    (sum, message) => sum + tokenizer.leastTokens(textOf(message)),
    0,
  );
  if (last > room) throw tooLong(last, room, tools.length, 0);
  for (const message of messages) await tokenizer.prepare(textOf(message));
}

/** Turns the model's text into parts as it comes. */
class PartWriter {
  calls = 0;
  private readonly parser: AnswerParser;

  constructor(
    engine: ChatEngine,
    { tools }: ChatRequest,
    isThinking: boolean,
    private readonly onPart: (part: ChatPart) => void,
  ) {
    this.parser = answerParser(engine.tokenizer, { isThinking, tools, ...knowledgeOf(engine) });
  }

  push(delta: string): true {
    this.write(this.parser.push(delta));
    return true;
  }

  flush(): void {
    this.write(this.parser.flush());
  }

  private write(parts: readonly AnswerPart[]): void {
    for (const part of parts) {
      if (part.kind !== 'call') {
        this.onPart(part);
      } else {
        this.calls++;
        this.onPart({ kind: 'toolCall', call: { id: `call_${randomUUID()}`, ...part.call } });
      }
    }
  }
}

/** Whether the template has told the model of tools in the model's own form. */
function knowledgeOf({ chat }: ChatEngine): { knowsTools?: boolean } {
  return chat === null ? {} : { knowsTools: chat.knowsTools };
}

function encoder(
  engine: ChatEngine,
  { tools, thinking }: ChatRequest,
): (messages: ChatRequest['messages']) => readonly number[] {
  const template = engine.chat;
  if (template === null) {
    throw new EngineError(
      'unsupported',
      `${engine.info.title} has no chat template, so it cannot chat: choose an instruct model as chat model`,
    );
  }
  return (messages) => {
    const input = templateInput(messages, tools, template);
    const options: ChatOptions = {
      addGenerationPrompt: true,
      tools: input.tools,
      ...(thinking === 'auto' ? {} : { enableThinking: thinking === 'on' }),
    };
    try {
      return template.encode(input.messages, options);
    } catch (error) {
      const isRefusal = error instanceof EngineError && error.code === 'bad_request';
      if (!isRefusal) throw error;
      return template.encode(strictTurns(input.messages), options);
    }
  };
}

/** Templates of models that always think end the prompt with the opening tag. */
function thinksAtOnce({ tokenizer }: ChatEngine, ids: readonly number[]): boolean {
  return tokenizer.decode(ids.slice(-8)).trimEnd().endsWith(THINK_START);
}

function samplingOf(wanted: ChatSampling, own: SamplingDefaults): SamplingParams {
  return {
    ...GREEDY,
    ...DEFAULT_SAMPLING,
    ...own,
    ...(wanted.temperature === null ? {} : { temperature: wanted.temperature }),
    ...(wanted.topP === null ? {} : { topP: wanted.topP }),
    ...(wanted.topK === null ? {} : { topK: wanted.topK }),
    seed: wanted.seed ?? Date.now() % 2 ** 32,
  };
}
