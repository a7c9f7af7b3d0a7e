import * as z from 'zod';
import type { ChatMessage } from '../../../protocol/chat';
import { MAX_MESSAGES, MAX_PARTS, MAX_TEXT, MAX_TOOLS } from '../limits';
import { byKind, described, issue, optional } from './field';

const text = z.string().max(MAX_TEXT);
/** Images and sound are known to clients, not to the models here. */
const OTHER_PARTS = ['image_url', 'input_audio', 'file', 'image', 'video_url'];

const part = z
  .looseObject({ type: z.string(), text: z.unknown().optional() })
  .transform((value, context): string => {
    if (OTHER_PARTS.includes(value.type)) {
      context.addIssue({
        ...issue('unsupported_value', 'expected text: this server reads nothing else'),
        path: ['type'],
      });
      return z.NEVER;
    }
    if (value.type !== 'text' && value.type !== 'refusal') {
      context.addIssue({ ...issue('invalid_value', 'expected text'), path: ['type'] });
      return z.NEVER;
    }
    const content = value.type === 'text' ? value.text : value['refusal'];
    if (typeof content === 'string' && content.length <= MAX_TEXT) return content;
    context.addIssue({
      ...issue('invalid_type', `expected a string of at most ${MAX_TEXT} characters`),
      path: [value.type],
    });
    return z.NEVER;
  });

const content = byKind({
  string: text,
  array: z
    .array(part)
    .min(1)
    .max(MAX_PARTS)
    .transform((parts) => parts.join('\n')),
});

const toolCall = z.object({
  id: z.string().min(1).max(256),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().min(1).max(256), arguments: text }),
});

const assistant = z
  .object({
    role: z.literal('assistant'),
    content: optional(content),
    reasoning_content: optional(text),
    tool_calls: optional(z.array(toolCall).max(MAX_TOOLS)),
  })
  .superRefine((value, context) => {
    const hasCalls = (value.tool_calls ?? []).length > 0;
    if (value.content !== undefined || hasCalls) return;
    context.addIssue({
      ...issue('invalid_type', 'expected content or tool_calls'),
      path: ['content'],
    });
  });

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content }),
  z.object({ role: z.literal('developer'), content }),
  z.object({ role: z.literal('user'), content }),
  assistant,
  z.object({ role: z.literal('tool'), content, tool_call_id: z.string().min(1).max(256) }),
]);

type Message = z.output<typeof message>;

export const messagesField = described(
  z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES)
    .superRefine((messages, context) => {
      const last = messages.length - 1;
      if (messages[last]?.role === 'assistant' && messages[last - 1]?.role === 'assistant') {
        context.addIssue({
          ...issue('invalid_value', 'two assistant messages at the end'),
          path: [last, 'role'],
        });
      }
    })
    .transform(toChat),
  {
    type: 'array',
    range: `1 to ${MAX_MESSAGES} messages: system, developer, user, assistant, tool`,
    otherwise: 'required',
    note: 'the conversation; text only; a last message of the assistant is continued',
  },
);

/** The messages as the chat template's code takes them; a tool's answer must be to a call that is there. */
function toChat(messages: readonly Message[], context: z.core.$RefinementCtx): ChatMessage[] {
  const callNames = new Map<string, string>();
  return messages.map((entry, i): ChatMessage => {
    switch (entry.role) {
      case 'system':
      case 'developer':
        return { role: 'system', content: entry.content };
      case 'user':
        return { role: 'user', content: entry.content };
      case 'assistant': {
        const toolCalls = (entry.tool_calls ?? []).map((call) => ({
          id: call.id,
          ...call.function,
        }));
        for (const { id, name } of toolCalls) callNames.set(id, name);
        return {
          role: 'assistant',
          content: entry.content ?? '',
          reasoning: entry.reasoning_content ?? '',
          toolCalls,
        };
      }
      case 'tool': {
        const { content: answer, tool_call_id: toolCallId } = entry;
        const name = callNames.get(toolCallId);
        if (name === undefined) {
          const words = 'expected the id of a call in a message before';
          context.addIssue({ ...issue('invalid_value', words), path: [i, 'tool_call_id'] });
        }
        return { role: 'tool', content: answer, toolCallId, name: name ?? '' };
      }
    }
  });
}
