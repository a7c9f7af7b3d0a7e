/** Messages of VS Code's language model API in the words of our protocol. Told apart by shape, so that no class is needed. */
import * as l10n from '@vscode/l10n';
import type { ChatMessage, ToolCall, ToolDefinition } from '../../protocol/chat';
import { ProtocolError } from '../../protocol/errors';

/** As in vscode.LanguageModelChatRequestMessage. Role 3, system, is sent by VS Code itself. */
export interface ApiMessage {
  readonly role: number;
  readonly content: Iterable<unknown>;
}

export interface ApiTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object | undefined;
}

const ASSISTANT = 2;
const SYSTEM = 3;

interface Gathered {
  text: string;
  reasoning: string;
  readonly calls: ToolCall[];
  readonly results: { readonly id: string; readonly text: string }[];
}

/** Throws ProtocolError unsupported for a picture. `isThinking` knows thinking parts, which look like text. */
export function toMessages(
  messages: readonly ApiMessage[],
  isThinking: (part: unknown) => boolean,
): ChatMessage[] {
  const names = new Map<string, string>();
  return messages.flatMap(({ role, content }): ChatMessage[] => {
    const { text, reasoning, calls, results } = gather(content, isThinking);
    for (const { id, name } of calls) names.set(id, name);
    if (role === SYSTEM) return [{ role: 'system', content: text }];
    if (role === ASSISTANT) {
      return [{ role: 'assistant', content: text, reasoning, toolCalls: calls }];
    }
    const answers = results.map(({ id, text: answer }): ChatMessage => {
      return { role: 'tool', content: answer, toolCallId: id, name: names.get(id) ?? '' };
    });
    return text === '' ? answers : [...answers, { role: 'user', content: text }];
  });
}

export function toTools(tools: readonly ApiTool[]): ToolDefinition[] {
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    parameters: JSON.stringify(inputSchema ?? { type: 'object', properties: {} }),
  }));
}

/** All text of a message, for counting; a picture counts as nothing. */
export function textOf(content: Iterable<unknown>): string {
  return [...content].map((part) => partText(part, () => '')).join('');
}

function gather(content: Iterable<unknown>, isThinking: (part: unknown) => boolean): Gathered {
  const gathered: Gathered = { text: '', reasoning: '', calls: [], results: [] };
  for (const part of content) {
    if (isThinking(part)) gathered.reasoning += partText(part, refusePicture);
    else if (isCall(part)) gathered.calls.push(callOf(part));
    else if (isResult(part)) {
      const text = [...part.content].map((item) => partText(item, refusePicture)).join('');
      gathered.results.push({ id: part.callId, text });
    } else gathered.text += partText(part, refusePicture);
  }
  return gathered;
}

interface ApiCall {
  readonly callId: string;
  readonly name: string;
  readonly input: object;
}
interface ApiResult {
  readonly callId: string;
  readonly content: Iterable<unknown>;
}

function isCall(part: unknown): part is ApiCall {
  return has(part, 'callId') && has(part, 'input') && has(part, 'name');
}

function isResult(part: unknown): part is ApiResult {
  return has(part, 'callId') && has(part, 'content');
}

function callOf({ callId, name, input }: ApiCall): ToolCall {
  return { id: callId, name, arguments: JSON.stringify(input ?? {}) };
}

function partText(part: unknown, picture: () => string): string {
  if (typeof part === 'string') return part;
  if (has(part, 'value')) return valueText(part.value);
  if (isResult(part)) return [...part.content].map((item) => partText(item, picture)).join('');
  if (isCall(part)) return JSON.stringify(part.input);
  if (has(part, 'mimeType') && has(part, 'data'))
    return dataText(part.mimeType, part.data, picture);
  return '';
}

/** A text, lines of thoughts, or the tree of a prompt-tsx part. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string').join('');
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** Marks that VS Code keeps for itself, such as cache_control, are no text. */
function dataText(mimeType: unknown, data: unknown, picture: () => string): string {
  const type = String(mimeType);
  if (type.startsWith('image/')) return picture();
  const isText = type.startsWith('text/') || type.endsWith('json');
  return isText && data instanceof Uint8Array ? new TextDecoder().decode(data) : '';
}

function refusePicture(): never {
  throw new ProtocolError(
    'unsupported',
    l10n.t('the chat model reads no pictures: remove them and ask again'),
  );
}

function has<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && key in value;
}
