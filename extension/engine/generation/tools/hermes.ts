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
  private called = false;

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
    this.called ||= call !== null;
    out.push(call ? { kind: 'call', call } : { kind: 'text', text: CALL_START + body + end });
  }

  /** Blank lines between calls are no answer. */
  private text(out: TextOrCall[], text: string): void {
    if (text === '' || (this.called && text.trim() === '')) return;
    out.push({ kind: 'text', text });
  }
}
