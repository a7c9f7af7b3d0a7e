import { splitAtTag } from '../tag';
import {
  isObjectText,
  parseCall,
  type CallParser,
  type ParsedCall,
  type TextOrCall,
} from './call_parser';

export const MISTRAL_START = '[TOOL_CALLS]';
/** Granite 3 and Phi-4-mini have the same list between other tokens. */
export const GRANITE_START = '<|tool_call|>';
export const GRANITE_END = '<|/tool_call|>';

/**
 * Tool calls of Mistral's models: `[TOOL_CALLS][{"name": …, "arguments": {…}}, …]`, or since 2025
 * `[TOOL_CALLS]name[ARGS]{…}` one after the other. They are the end of the answer.
 */
export class MistralParser implements CallParser {
  private held = '';
  private inCalls = false;

  constructor(
    private readonly start = MISTRAL_START,
    private readonly end = '',
  ) {}

  push(delta: string): TextOrCall[] {
    this.held += delta;
    if (this.inCalls) return [];
    const { before, found, rest } = splitAtTag(this.held, this.start);
    this.held = rest;
    this.inCalls = found;
    return before === '' ? [] : [{ kind: 'text', text: before }];
  }

  flush(): TextOrCall[] {
    const { held, inCalls } = this;
    this.held = '';
    this.inCalls = false;
    const calls = inCalls ? this.callsOf(held) : null;
    if (calls !== null) return calls.map((call) => ({ kind: 'call', call }));
    const text = inCalls ? this.start + held : held;
    return text === '' ? [] : [{ kind: 'text', text }];
  }

  private callsOf(held: string): ParsedCall[] | null {
    if (this.end === '') return listOf(held) ?? namedOf(held);
    const lists = held
      .split(this.start)
      .map((part) => listOf(part.trimEnd().replace(this.end, '')));
    return lists.every((list) => list !== null) ? lists.flat() : null;
  }
}

/** A JSON list of calls, or one call. */
function listOf(body: string): ParsedCall[] | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  const items: unknown[] = Array.isArray(value) ? (value as unknown[]) : [value];
  const calls = items.map((item) => parseCall(JSON.stringify(item)));
  return calls.every((call) => call !== null) ? calls : null;
}

/** `name[CALL_ID]id[ARGS]{…}`, the parts in brackets as far as they are there. */
function namedOf(body: string): ParsedCall[] | null {
  const calls = body.split(MISTRAL_START).map((part): ParsedCall | null => {
    const match = /^\s*([\w.:/-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*(\{[\s\S]*)$/.exec(
      part,
    );
    const [, name = '', text = ''] = match ?? [];
    return isObjectText(text) ? { name, arguments: text.trim() } : null;
  });
  return calls.every((call) => call !== null) ? calls : null;
}
