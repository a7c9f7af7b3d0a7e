/**
 * Tool calls as Hermes 2 Pro, Qwen 2.5, Qwen 3 and many others write them:
 * `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; Qwen 3 Coder has XML between the same tags.
 */
import { splitAtTag } from '../tag';
import { parseCall, type CallParser, type TextOrCall, type ToolSchema } from './call_parser';
import { parseXmlCall } from './xml_call';

export const CALL_START = '<tool_call>';
export const CALL_END = '</tool_call>';

/** Takes the calls out of an answer while it is written. What only looks like a call stays text. */
export class HermesParser implements CallParser {
  private held = '';
  private inCall = false;
  /** Blanks since a call, which are no answer unless text follows; null: text has. */
  private blank: string | null = null;

  constructor(private readonly tools: readonly ToolSchema[] = []) {}

  push(delta: string): TextOrCall[] {
    this.held += delta;
    const out: TextOrCall[] = [];
    for (;;) {
      const { before, found, rest } = splitAtTag(this.held, this.inCall ? CALL_END : CALL_START);
      if (this.inCall && !found) return out;
      this.held = rest;
      if (this.inCall) this.close(out, before, CALL_END);
      else this.text(out, before);
      if (!found) return out;
      this.inCall = !this.inCall;
    }
  }

  /** The rest: a call whose closing tag never came counts when it is whole. */
  flush(): TextOrCall[] {
    const out: TextOrCall[] = [];
    if (this.inCall) this.close(out, this.held, '');
    else this.text(out, this.held);
    this.held = '';
    this.inCall = false;
    return out;
  }

  private close(out: TextOrCall[], body: string, end: string): void {
    const call = parseCall(body) ?? parseXmlCall(body, this.tools);
    if (call === null) {
      this.text(out, CALL_START + body + end);
      return;
    }
    this.blank = '';
    out.push({ kind: 'call', call });
  }

  private text(out: TextOrCall[], piece: string): void {
    const text = (this.blank ?? '') + piece;
    if (this.blank !== null && text.trim() === '') {
      this.blank = text;
      return;
    }
    this.blank = null;
    if (text !== '') out.push({ kind: 'text', text });
  }
}
