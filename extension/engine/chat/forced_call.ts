import type { ToolDefinition } from '../../protocol/chat';
import { EngineError } from '../errors';
import { answerFormat, type AnswerFormat } from '../generation/answer_parser';
import type { Grammar } from '../generation/constrain/constraint';
import { THINK_END } from '../generation/reasoning';
import { CALL_START } from '../generation/tools/hermes';
import { GRANITE_START, MISTRAL_START } from '../generation/tools/mistral';
import type { JsonObject } from '../loading/json_file';
import type { Tokenizer } from '../loading/tokenizer';

/** How an answer is made to be one call: what it begins with, and the grammar of the rest. */
export interface ForcedCall {
  readonly forcedIds: readonly number[];
  readonly grammar: Grammar;
}

/**
 * For answers that must be a call. Its beginning is written for the model, the model's own thoughts closed before it,
 * and the call itself is held to the schemas of the tools. Throws unsupported when the model's form of a call cannot
 * leave the choice of the tool to it.
 */
export function forceCall(
  tokenizer: Tokenizer,
  tools: readonly ToolDefinition[],
  { isThinking, knowsTools }: { isThinking: boolean; knowsTools?: boolean },
): ForcedCall {
  const format = answerFormat(tokenizer, knowsTools);
  const { start, schema } = format === 'harmony' ? harmonyCall(tools) : taggedCall(format, tools);
  const grammar: Grammar = { type: 'json_schema', schema };
  const text = `${isThinking ? closeThoughts() : ''}${start}`;
  return { forcedIds: tokenizer.encodeTemplate(text), grammar };
}

/** What stands between the start of thoughts and the answer when there are none. */
export function closeThoughts(): string {
  return `\n${THINK_END}\n\n`;
}

interface CallStart {
  readonly start: string;
  readonly schema: JsonObject;
}

function taggedCall(
  format: Exclude<AnswerFormat, 'harmony'>,
  tools: readonly ToolDefinition[],
): CallStart {
  switch (format) {
    case 'hermes':
      return { start: `${CALL_START}\n`, schema: callSchema(tools, 'arguments') };
    case 'mistral':
    case 'granite': {
      const { $defs, ...items } = callSchema(tools, 'arguments');
      const schema = { type: 'array', items, minItems: 1, maxItems: 1 };
      const start = format === 'mistral' ? MISTRAL_START : GRANITE_START;
      return { start, schema: $defs === undefined ? schema : { ...schema, $defs } };
    }
    case 'llama':
      return { start: '', schema: callSchema(tools, 'parameters') };
  }
}

/** The function's name stands outside of the JSON, so it must be known. */
function harmonyCall(tools: readonly ToolDefinition[]): CallStart {
  const [tool, ...others] = tools;
  if (tool === undefined || others.length > 0) {
    throw new EngineError(
      'unsupported',
      'this model must be told which function to call; name one',
    );
  }
  const start = `<|channel|>commentary to=functions.${tool.name} <|constrain|>json<|message|>`;
  return { start, schema: argumentsOf(tool).schema };
}

function argumentsOf({ parameters }: ToolDefinition): {
  schema: JsonObject;
  definitions: JsonObject;
} {
  const { $defs, definitions, ...own } = JSON.parse(parameters) as JsonObject;
  const schema = Object.fromEntries(Object.entries(own).filter(([key]) => key !== '$schema'));
  const all = { ...($defs as JsonObject | undefined), ...(definitions as JsonObject | undefined) };
  return {
    schema: Object.keys(schema).length === 0 ? { type: 'object' } : schema,
    definitions: all,
  };
}

/** One call of any of the tools; `key`: how the format names the arguments. */
function callSchema(tools: readonly ToolDefinition[], key: 'arguments' | 'parameters'): JsonObject {
  const definitions: Record<string, unknown> = {};
  const calls = tools.map((tool) => {
    const own = argumentsOf(tool);
    // References begin at the root of the whole schema.
    Object.assign(definitions, own.definitions);
    return {
      type: 'object',
      properties: { name: { const: tool.name }, [key]: own.schema },
      required: ['name', key],
      additionalProperties: false,
    };
  });
  const only = calls.length === 1 ? calls[0] : undefined;
  const schema: JsonObject = only ?? { anyOf: calls };
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions };
}
