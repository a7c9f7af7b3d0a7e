import { createHash } from 'node:crypto';
import type { ChatMessage, ToolDefinition } from '../../protocol/chat';
import { EngineError } from '../errors';
import { CALL_END, CALL_START } from '../generation/tools/hermes';
import type { ChatMessage as TemplateMessage, ChatTemplate } from '../loading/chat_template';
import type { JsonObject } from '../loading/json_file';

/** Messages and tools in the form that chat templates read, which is OpenAI's. */
export interface TemplateInput {
  readonly messages: readonly TemplateMessage[];
  readonly tools: readonly JsonObject[];
}

/** Tools that the template does not know are written as text, in the form of Hermes. */
export function templateInput(
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
  { knowsTools, wantsShortIds }: Pick<ChatTemplate, 'knowsTools' | 'wantsShortIds'>,
): TemplateInput {
  const functions = tools.map(functionOf);
  const idOf = wantsShortIds ? shortId : (id: string) => id;
  if (knowsTools) return { messages: messages.map((m) => native(m, idOf)), tools: functions };
  const plain = messages.map(asText);
  return { messages: functions.length > 0 ? announce(plain, functions) : plain, tools: [] };
}

/** For templates that want user and assistant in turns and know no system message. */
export function strictTurns(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const turns: TemplateMessage[] = [];
  for (const message of messages) {
    const role = message.role === 'system' ? 'user' : message.role;
    const last = turns.at(-1);
    if (role === 'user' && last?.role === 'user') {
      const content = `${String(last.content)}\n\n${String(message.content)}`;
      turns[turns.length - 1] = { role, content };
    } else {
      turns.push({ ...message, role });
    }
  }
  return turns;
}

/** A tool in OpenAI's form. Throws EngineError bad_request when its parameters are no JSON object. */
export function functionOf({ name, description, parameters }: ToolDefinition): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      description,
      parameters: parseObject(parameters, `tool ${name}: parameters`),
    },
  };
}

/** Nine letters and digits. */
function shortId(id: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

function native(message: ChatMessage, idOf: (id: string) => string): TemplateMessage {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'assistant': {
      const { role, content, reasoning, toolCalls } = message;
      const calls = toolCalls.map(({ id, name, arguments: args }) => ({
        id: idOf(id),
        type: 'function',
        function: { name, arguments: parseObject(args, `call of ${name}: arguments`) },
      }));
      return {
        role,
        content,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
    }
    case 'tool': {
      const { role, content, toolCallId, name } = message;
      return { role, content, tool_call_id: idOf(toolCallId), name };
    }
  }
}

function asText(message: ChatMessage): TemplateMessage {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls.map(
        ({ name, arguments: args }) =>
          `${CALL_START}\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n${CALL_END}`,
      );
      return { role: 'assistant', content: [message.content, ...calls].join('\n').trim() };
    }
    case 'tool':
      return {
        role: 'user',
        content: `<tool_response>\n${message.content}\n</tool_response>`,
      };
  }
}

function announce(
  messages: readonly TemplateMessage[],
  functions: readonly JsonObject[],
): TemplateMessage[] {
  const lines = [
    'You may call one or more functions. Their signatures:',
    '<tools>',
    ...functions.map((tool) => JSON.stringify(tool)),
    '</tools>',
    'To call one, answer with a JSON object in these tags:',
    `${CALL_START}\n{"name": "function-name", "arguments": {}}\n${CALL_END}`,
  ];
  const text = lines.join('\n');
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text }, ...messages];
  return [{ role: 'system', content: `${String(first.content)}\n\n${text}` }, ...rest];
}

function parseObject(text: string, what: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject;
  }
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  throw new EngineError('bad_request', `${what}: expected a JSON object, got ${shown}`);
}
