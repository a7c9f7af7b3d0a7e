import { strictTurns, templateInput } from '../../chat/template_messages';
import { EngineError } from '../../errors';
import { THINK_START } from '../../generation/reasoning';
import type { ChatOptions } from '../../loading/chat_template';
import type { ChatMessage, ToolDefinition } from '../../../protocol/chat';
import type { ServerEngine } from '../engine';
import { ApiError, badRequest } from '../errors';

export interface ChatPrompt {
  readonly ids: readonly number[];
  /** The prompt ends within the model's thoughts. */
  readonly isThinking: boolean;
}

export interface PromptInput {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  /** Absent = as the model does by itself. */
  readonly thinking: boolean | undefined;
}

/** A conversation as the model's chat template writes it, however long. Throws 400 when the template refuses it. */
export function chatPrompt(engine: ServerEngine, input: PromptInput): ChatPrompt {
  const { tokenizer, chat } = engine;
  if (chat === null) {
    throw badRequest(
      'unsupported_value',
      'model',
      'model: this one has no chat template, so it cannot chat; use /v1/completions, or serve an instruct model',
    );
  }
  const last = input.messages.at(-1);
  const isContinued = last?.role === 'assistant' && last.toolCalls.length === 0;
  const messages = isContinued ? input.messages.slice(0, -1) : input.messages;
  const start = encode(chat, { ...input, messages });
  const isThinking = tokenizer.decode(start.slice(-8)).trimEnd().endsWith(THINK_START);
  const ids = isContinued ? start.concat(tokenizer.encode(last.content)) : start;
  return { ids, isThinking: isThinking && !isContinued };
}

function encode(
  template: NonNullable<ServerEngine['chat']>,
  { messages, tools, thinking }: PromptInput,
): number[] {
  try {
    const input = templateInput(messages, tools, template);
    const options: ChatOptions = {
      addGenerationPrompt: true,
      tools: input.tools,
      ...(thinking === undefined ? {} : { enableThinking: thinking }),
    };
    try {
      return template.encode(input.messages, options);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return encodeStrict(template, strictTurns(input.messages), options, error);
    }
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new ApiError(400, 'template_error', error.message.slice(0, 500), { param: 'messages' });
  }
}

/** For templates without system messages; the first refusal is the one that is told. */
function encodeStrict(
  template: NonNullable<ServerEngine['chat']>,
  messages: ReturnType<typeof strictTurns>,
  options: ChatOptions,
  refusal: EngineError,
): number[] {
  try {
    return template.encode(messages, options);
  } catch (error) {
    throw isRefusal(error) ? refusal : error;
  }
}

function isRefusal(error: unknown): error is EngineError {
  return error instanceof EngineError && error.code === 'bad_request';
}
