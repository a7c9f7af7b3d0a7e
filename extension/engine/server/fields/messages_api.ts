import * as z from 'zod';
import type { ChatMessage, ToolCall, ToolDefinition } from '../../../protocol/chat';
import {
  MAX_MESSAGES,
  MAX_PARTS,
  MAX_STOP_LENGTH,
  MAX_STOPS,
  MAX_TEXT,
  MAX_TOOLS,
} from '../limits';
import { byKind, described, flag, int, issue, optional } from './field';
import { modelField, samplingFields } from './sampling';
import { checkToolChoice, type ToolChoice } from './tools';

/** The fields of Anthropic's API: https://docs.anthropic.com/en/api/messages */

const text = z.string().max(MAX_TEXT);
const textBlock = z.object({ type: z.literal('text'), text });
const texts = byKind({
  string: text,
  array: z
    .array(textBlock)
    .max(MAX_PARTS)
    .transform((blocks) => blocks.map((block) => block.text).join('\n')),
});

const block = z.discriminatedUnion('type', [
  textBlock,
  z.object({ type: z.literal('thinking'), thinking: text }),
  z.object({ type: z.literal('redacted_thinking') }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string().min(1).max(256),
    name: z.string().min(1).max(256),
    input: z.record(z.string(), z.unknown()),
  }),
  z.object({
    type: z.literal('tool_result'),
    tool_use_id: z.string().min(1).max(256),
    content: optional(texts),
    is_error: optional(z.boolean()),
  }),
]);
type Block = z.output<typeof block>;

const blocks = byKind({
  string: text.transform((value): Block[] => [{ type: 'text', text: value }]),
  array: z.array(block).min(1).max(MAX_PARTS),
});

const message = z.object({ role: z.enum(['user', 'assistant']), content: blocks });

const messages = described(z.array(message).min(1).max(MAX_MESSAGES).transform(toChat), {
  type: 'array',
  range: `1 to ${MAX_MESSAGES} messages of user and assistant`,
  otherwise: 'required',
  note: 'the conversation; blocks of text, thinking, tool_use and tool_result; a last message of the assistant is continued',
});

/** Results of tools are messages of their own for chat templates, before what the user says beside them. */
function toChat(
  list: readonly z.output<typeof message>[],
  context: z.core.$RefinementCtx,
): ChatMessage[] {
  const callNames = new Map<string, string>();
  return list.flatMap(({ role, content }, i): ChatMessage[] => {
    const said = content.flatMap((item) => (item.type === 'text' ? item.text : [])).join('\n');
    if (role === 'assistant') {
      const reasoning = content.flatMap((item) => (item.type === 'thinking' ? item.thinking : []));
      const toolCalls = content.flatMap((item): ToolCall[] =>
        item.type === 'tool_use'
          ? [{ id: item.id, name: item.name, arguments: JSON.stringify(item.input) }]
          : [],
      );
      for (const { id, name } of toolCalls) callNames.set(id, name);
      return [{ role, content: said, reasoning: reasoning.join('\n'), toolCalls }];
    }
    const results = content.flatMap((item, at): ChatMessage[] => {
      if (item.type !== 'tool_result') return [];
      const name = callNames.get(item.tool_use_id);
      if (name === undefined) {
        const words = 'expected the id of a tool_use in a message before';
        context.addIssue({
          ...issue('invalid_value', words),
          path: [i, 'content', at, 'tool_use_id'],
        });
      }
      return [
        {
          role: 'tool',
          content: item.content ?? '',
          toolCallId: item.tool_use_id,
          name: name ?? '',
        },
      ];
    });
    const hasText = content.some((item) => item.type === 'text');
    return hasText || results.length === 0 ? [...results, { role, content: said }] : results;
  });
}

const tool = z
  .object({
    name: z.string().regex(/^[\w.:/-]{1,128}$/),
    description: z.string().max(MAX_TEXT).nullish(),
    input_schema: z.record(z.string(), z.unknown()),
  })
  .transform(({ name, description, input_schema }): ToolDefinition => ({
    name,
    description: description ?? '',
    parameters: JSON.stringify(input_schema),
  }));

const onlyOne = { disable_parallel_tool_use: z.boolean().optional() };

const toolChoice = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('auto'), ...onlyOne }),
    z.object({ type: z.literal('any'), ...onlyOne }),
    z.object({ type: z.literal('none') }),
    z.object({ type: z.literal('tool'), name: z.string(), ...onlyOne }),
  ])
  .transform((value): { readonly choice: ToolChoice; readonly onlyOneCall: boolean } => {
    const onlyOneCall = value.type !== 'none' && value.disable_parallel_tool_use === true;
    if (value.type === 'tool') return { choice: { name: value.name }, onlyOneCall };
    return { choice: value.type === 'any' ? { name: null } : value.type, onlyOneCall };
  });

/** What decides the prompt, and so the number of its tokens. */
const promptFields = {
  model: modelField,
  messages,
  system: described(optional(texts), {
    type: 'string or array',
    range: 'text, or blocks of text',
    otherwise: 'none',
    note: 'the system prompt',
  }),
  tools: described(optional(z.array(tool).max(MAX_TOOLS)), {
    type: 'array',
    range: `at most ${MAX_TOOLS} tools with \`input_schema\``,
    otherwise: 'none',
    note: 'functions that the model may ask for',
  }),
  tool_choice: described(optional(toolChoice), {
    type: 'object',
    range: '`auto`, `any`, `tool` or `none`',
    otherwise: '`auto`',
    note: '`any` and `tool`: the call is held to its schema',
  }),
  thinking: described(
    optional(
      z.object({
        type: z.enum(['enabled', 'disabled', 'adaptive']),
        budget_tokens: z.unknown().optional(),
      }),
    ),
    {
      type: 'object',
      range: '`enabled`, `adaptive` or `disabled`',
      otherwise: '`disabled`',
      note: 'thoughts before the answer, where the model can do with and without; the budget is not enforced',
    },
  ),
};

interface Chosen {
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly tool_choice?: { readonly choice: ToolChoice } | undefined;
}

function checkChoice({ tools, tool_choice }: Chosen, context: z.core.$RefinementCtx): void {
  checkToolChoice({ tools, tool_choice: tool_choice?.choice }, context);
}

export const countTokensFields = z.object(promptFields).superRefine(checkChoice);

export const messagesApiFields = z
  .object({
    ...promptFields,
    max_tokens: described(int(1, 2 ** 31), {
      type: 'integer',
      range: 'from 1',
      otherwise: 'required',
      note: 'most tokens of the answer, its thoughts included',
    }),
    stop_sequences: described(
      optional(z.array(z.string().min(1).max(MAX_STOP_LENGTH)).max(MAX_STOPS)),
      {
        type: 'array',
        range: `at most ${MAX_STOPS} strings of 1 to ${MAX_STOP_LENGTH} characters`,
        otherwise: 'none',
        note: 'the answer ends before the first of these',
      },
    ),
    temperature: samplingFields.temperature,
    top_p: samplingFields.top_p,
    top_k: samplingFields.top_k,
    seed: samplingFields.seed,
    stream: flag({ note: 'server-sent events' }),
  })
  .superRefine(checkChoice);

export type MessagesApiFields = z.output<typeof messagesApiFields>;
