import { splitAtTag } from '../tag';
import {
  parseCall,
  type CallParser,
  type ParsedCall,
  type TextOrCall,
  type ToolSchema,
} from './call_parser';

export const LLAMA_START = '<|python_tag|>';

/**
 * Tool calls of Llama 3: `{"name": …, "parameters": {…}}` as the whole answer, or after `<|python_tag|>`; several with
 * semicolons between them. An answer in JSON that names no tool is an answer.
 */
export class LlamaParser implements CallParser {
  private held = '';
  private state: 'start' | 'text' | 'call' = 'start';
  /** What of the call's text is no JSON. */
  private tag = '';

  constructor(private readonly tools: readonly ToolSchema[]) {}

  push(delta: string): TextOrCall[] {
    this.held += delta;
    if (this.state === 'start') {
      const text = this.held.trimStart();
      if (text.startsWith('{')) this.state = 'call';
      else if (!LLAMA_START.startsWith(text)) this.state = 'text';
    }
    if (this.state !== 'text') return [];
    const { before, found, rest } = splitAtTag(this.held, LLAMA_START);
    this.held = rest;
    if (found) {
      this.state = 'call';
      this.tag = LLAMA_START;
    }
    return before === '' ? [] : [{ kind: 'text', text: before }];
  }

  flush(): TextOrCall[] {
    const text = this.tag + this.held;
    const calls = this.callsOf(text.trim().replace(LLAMA_START, ''));
    this.held = '';
    this.tag = '';
    this.state = 'start';
    if (calls !== null) return calls.map((call) => ({ kind: 'call', call }));
    return text === '' ? [] : [{ kind: 'text', text }];
  }

  private callsOf(text: string): ParsedCall[] | null {
    if (!text.startsWith('{')) return null;
    const whole = parseCall(text);
    const calls = whole === null ? text.split(/;\s*(?=\{)/).map(parseCall) : [whole];
    const known = calls.filter((call) => this.tools.some((tool) => tool.name === call?.name));
    return known.length === calls.length ? known.filter((call) => call !== null) : null;
  }
}
