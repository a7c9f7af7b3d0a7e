import * as z from 'zod';
import type { ChatMessage, ToolDefinition } from '../../../protocol/chat';
import type { Grammar } from '../../generation/constrain/constraint';
import { MAX_MESSAGES, MAX_PARTS, MAX_TEXT, MAX_TOOLS } from '../limits';
import { byKind, described, issue, optional, refused, text as textField } from './field';
import { maxTokens, modelField, samplingFields, streamFields } from './sampling';
import { checkToolChoice, toolFields, type ToolChoice } from './tools';

/** The fields of OpenAI's newer API: https://platform.openai.com/docs/api-reference/responses */

const text = z.string().max(MAX_TEXT);
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_text'), text }),
  z.object({ type: z.literal('output_text'), text }),
  z.object({ type: z.literal('text'), text }),
  z
    .object({ type: z.literal('refusal'), refusal: text })
    .transform(({ refusal }) => ({ text: refusal })),
]);
const content = byKind({
  string: text,
  array: z
    .array(part)
    .min(1)
    .max(MAX_PARTS)
    .transform((parts) => parts.map((item) => item.text).join('\n')),
});

const callId = z.string().min(1).max(256);
const item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    role: z.enum(['system', 'developer', 'user', 'assistant']),
    content,
  }),
  z.object({
    type: z.literal('function_call'),
    call_id: callId,
    name: z.string().min(1).max(256),
    arguments: text,
  }),
  z.object({ type: z.literal('function_call_output'), call_id: callId, output: content }),
  z.object({
    type: z.literal('reasoning'),
    content: optional(z.array(z.object({ type: z.string(), text }))),
  }),
]);
type Item = z.output<typeof item>;

/** A message may leave out that it is one. */
const looseItem = z.preprocess(
  (value) =>
    typeof value === 'object' && value !== null && 'role' in value && !('type' in value)
      ? { ...value, type: 'message' }
      : value,
  item,
);

const input = described(
  byKind({
    string: text.transform((value): ChatMessage[] => [{ role: 'user', content: value }]),
    array: z.array(looseItem).min(1).max(MAX_MESSAGES).transform(toChat),
  }),
  {
    type: 'string or array',
    range: `a text, or 1 to ${MAX_MESSAGES} items: message, reasoning, function_call, function_call_output`,
    otherwise: 'required',
    note: 'the conversation; text only; nothing is stored between requests',
  },
);

/** What the assistant said, thought and called one after the other is one message of chat templates. */
function toChat(items: readonly Item[], context: z.core.$RefinementCtx): ChatMessage[] {
  const messages: ChatMessage[] = [];
  const callNames = new Map<string, string>();
  const assistant = (): Extract<ChatMessage, { role: 'assistant' }> => {
    const last = messages.at(-1);
    const own =
      last?.role === 'assistant'
        ? last
        : { role: 'assistant' as const, content: '', reasoning: '', toolCalls: [] };
    if (own === last) messages.pop();
    return own;
  };
  items.forEach((entry, i) => {
    switch (entry.type) {
      case 'message': {
        const { role, content: said } = entry;
        if (role === 'assistant') {
          const own = assistant();
          messages.push({ ...own, content: own.content === '' ? said : `${own.content}\n${said}` });
        } else messages.push({ role: role === 'developer' ? 'system' : role, content: said });
        return;
      }
      case 'reasoning': {
        const own = assistant();
        const thoughts = (entry.content ?? []).map((thought) => thought.text).join('\n');
        messages.push({ ...own, reasoning: own.reasoning + thoughts });
        return;
      }
      case 'function_call': {
        const { call_id: id, name, arguments: args } = entry;
        callNames.set(id, name);
        const own = assistant();
        messages.push({ ...own, toolCalls: [...own.toolCalls, { id, name, arguments: args }] });
        return;
      }
      case 'function_call_output': {
        const name = callNames.get(entry.call_id);
        if (name === undefined) {
          const words = 'expected the id of a function_call before';
          context.addIssue({ ...issue('invalid_value', words), path: [i, 'call_id'] });
        }
        messages.push({
          role: 'tool',
          content: entry.output,
          toolCallId: entry.call_id,
          name: name ?? '',
        });
        return;
      }
    }
  });
  return messages;
}

const tool = z
  .object({
    type: z.literal('function'),
    name: z.string().regex(/^[\w.:/-]{1,128}$/),
    description: z.string().max(MAX_TEXT).nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  })
  .transform(({ name, description, parameters }): ToolDefinition => ({
    name,
    description: description ?? '',
    parameters: JSON.stringify(parameters ?? { type: 'object', properties: {} }),
  }));

const toolChoice = byKind({
  string: z.enum(['none', 'auto', 'required']),
  object: z.object({ type: z.literal('function'), name: z.string() }),
}).transform((value): ToolChoice => {
  if (value === 'none' || value === 'auto') return value;
  return { name: value === 'required' ? null : value.name };
});

const format = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    z.object({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) }),
  ])
  .transform((value): Grammar | undefined => (value.type === 'text' ? undefined : value));

export const responsesFields = z
  .object({
    model: modelField,
    input,
    instructions: textField(MAX_TEXT, {
      otherwise: 'none',
      note: 'a system message before the input',
    }),
    max_output_tokens: maxTokens(
      'what the context holds',
      'most tokens of the answer, its thoughts included',
    ),
    temperature: samplingFields.temperature,
    top_p: samplingFields.top_p,
    stream: streamFields.stream,
    tools: described(optional(z.array(tool).max(MAX_TOOLS)), {
      type: 'array',
      range: `at most ${MAX_TOOLS} functions`,
      otherwise: 'none',
      note: 'functions that the model may ask for',
    }),
    tool_choice: described(optional(toolChoice), {
      type: 'string or object',
      range: 'none, auto, required, or a function of `tools`',
      otherwise: 'auto',
      note: 'as in chat completions',
    }),
    parallel_tool_calls: toolFields.parallel_tool_calls,
    text: described(optional(z.object({ format: optional(format) })), {
      type: 'object',
      range: '`format`: `text`, `json_object` or `json_schema`',
      otherwise: '`text`',
      note: 'the answer is JSON, of the schema',
    }),
    reasoning: described(optional(z.object({ effort: optional(z.string()) })), {
      type: 'object',
      range: '`effort`',
      otherwise: 'the model’s own',
      note: '`none`: no thoughts before the answer, where the model can do without',
    }),
    previous_response_id: refused('nothing is stored: send the whole conversation as input'),
    conversation: refused('nothing is stored: send the whole conversation as input'),
  })
  .superRefine(checkToolChoice)
  .superRefine((value, context) => {
    if (
      value.text?.format === undefined ||
      (value.tools ?? []).length === 0 ||
      value.tool_choice === 'none'
    )
      return;
    const words = 'not with tools: an answer is JSON or a call';
    context.addIssue({ ...issue('unsupported_value', words), path: ['text', 'format'] });
  });

export type ResponsesFields = z.output<typeof responsesFields>;
