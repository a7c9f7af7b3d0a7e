import type { ChatMessage, ToolDefinition } from '../../../protocol/chat';
import type { Grammar } from '../../generation/constrain/constraint';
import { closeThoughts, forceCall, type ForcedCall } from '../../chat/forced_call';
import { EngineError } from '../../errors';
import { textOf } from '../../chat/fit';
import { checkPrompt, readAhead } from '../context';
import type { ServerEngine } from '../engine';
import { badRequest } from '../errors';
import { checkGrammar } from '../fields/format';
import type { ToolChoice } from '../fields/tools';
import type { ChoiceRequest } from '../generate';
import { samplingOf, type SamplingRequest } from '../sampling';
import type { OutputOptions } from './output';
import { chatPrompt } from './prompt';

/** A chat, whichever of the APIs it came by. */
export interface ChatInput {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice;
  readonly onlyOneCall: boolean;
  /** Absent = as the model does by itself. */
  readonly thinking: boolean | undefined;
  readonly grammar: Grammar | undefined;
  /** The field that asks for the grammar. */
  readonly grammarParam: string;
  readonly sampling: SamplingRequest;
  readonly stop: readonly string[];
  /** Absent = what the context holds. */
  readonly maxTokens: number | undefined;
  readonly n: number;
  readonly logprobs?: number | undefined;
}

export interface PreparedChat {
  readonly promptTokens: number;
  /** Tokens that are written for the model; neither prompt nor answer, counted as prompt. */
  readonly forcedTokens: number;
  /** One a choice. */
  readonly requests: readonly ChoiceRequest[];
  readonly output: OutputOptions;
}

/** Everything that can be refused is refused here, before anything is sent. */
export async function prepareChat(engine: ServerEngine, input: ChatInput): Promise<PreparedChat> {
  const tools = input.toolChoice === 'none' ? [] : input.tools;
  const wantsJson = input.grammar !== undefined;
  checkGrammar(engine, input.grammar, input.grammarParam);
  await readAhead(engine, input.messages.map(textOf), 'messages');
  const { ids, isThinking } = chatPrompt(engine, {
    messages: input.messages,
    tools,
    // Thoughts are no JSON.
    thinking: wantsJson ? false : input.thinking,
  });
  const { forcedIds, grammar } = constrain(engine, input, isThinking);
  checkPrompt(engine, [...ids, ...forcedIds], 'messages');
  const room = engine.info.contextLength - ids.length - forcedIds.length;
  const maxTokens = forcedIds.length + Math.min(input.maxTokens ?? room, room);
  const requests = samplingOf(input.sampling, engine, input.n).map((sampling): ChoiceRequest => ({
    ids,
    forcedIds,
    maxTokens,
    sampling,
    stop: input.stop,
    ...(grammar === undefined ? {} : { grammar }),
    ...(input.logprobs === undefined ? {} : { logprobs: input.logprobs }),
  }));
  const output = { isThinking, tools, onlyOneCall: input.onlyOneCall, ...knowledgeOf(engine) };
  return { promptTokens: ids.length, forcedTokens: forcedIds.length, requests, output };
}

function constrain(
  engine: ServerEngine,
  { tools, toolChoice, grammar }: ChatInput,
  isThinking: boolean,
): { readonly forcedIds: readonly number[]; readonly grammar: Grammar | undefined } {
  if (typeof toolChoice === 'object') {
    const { name } = toolChoice;
    const allowed = name === null ? tools : tools.filter((tool) => tool.name === name);
    return forced(engine, allowed, isThinking);
  }
  const closes = grammar !== undefined && isThinking;
  return { forcedIds: closes ? engine.tokenizer.encodeTemplate(closeThoughts()) : [], grammar };
}

/** Whether the template has told the model of tools in the model's own form. */
function knowledgeOf({ chat }: ServerEngine): { knowsTools?: boolean } {
  return chat === null ? {} : { knowsTools: chat.knowsTools };
}

function forced(
  engine: ServerEngine,
  tools: readonly ToolDefinition[],
  isThinking: boolean,
): ForcedCall {
  try {
    const call = forceCall(engine.tokenizer, tools, { isThinking, ...knowledgeOf(engine) });
    checkGrammar(engine, call.grammar, 'tools');
    return call;
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'unsupported')) throw error;
    throw badRequest('unsupported_value', 'tool_choice', `tool_choice: ${error.message}`);
  }
}
