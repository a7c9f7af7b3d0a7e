/**
 * Tool calls as Hermes 2 Pro, Qwen 2.5, Qwen 3 and many others write them:
 * `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; Qwen 3 Coder has XML between the same tags.
 */
import { splitAtTag } from '../tag';
import { parseCall, type CallParser, type TextOrCall, type ToolSchema } from './call_parser';
import { functionTag, parseXmlCall } from './xml_call';

export const CALL_START = '<tool_call>';
export const CALL_END = '</tool_call>';

/** Takes the calls out of an answer while it is written. What only looks like a call stays text. */
export class HermesParser implements CallParser {
  private held = '';
  private inCall = false;
  /** Blanks since a call, which are no answer unless text follows; null: text has. */
  private blank: string | null = null;
  /** The tag that the call began with, as far as it is none of the call itself. */
  private opening = '';
  /** Qwen 3 Coder at times forgets the tag around a function. */
  private readonly functionTags: readonly string[];

  constructor(private readonly tools: readonly ToolSchema[] = []) {
    this.functionTags = tools.map(({ name }) => functionTag(name));
  }

  push(delta: string): TextOrCall[] {
    this.held += delta;
    const out: TextOrCall[] = [];
    for (;;) {
      const { before, found, rest } = this.inCall ? splitAtTag(this.held, CALL_END) : this.start();
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

  /** Up to the first tag that a call begins with. */
  private start(): ReturnType<typeof splitAtTag> {
    const call = { ...splitAtTag(this.held, CALL_START), opening: CALL_START };
    const functions = this.functionTags.map((tag) => {
      const split = splitAtTag(this.held, tag);
      return { ...split, opening: '', rest: split.found ? tag + split.rest : split.rest };
    });
    const first = functions.reduce((a, b) => (isEarlier(b, a) ? b : a), call);
    this.opening = first.opening;
    return first;
  }

  private close(out: TextOrCall[], body: string, end: string): void {
    const call = parseCall(body) ?? parseXmlCall(body, this.tools);
    if (call === null) {
      this.text(out, this.opening + body + end);
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

type Split = ReturnType<typeof splitAtTag>;

/** A tag that is there comes before one that may be beginning; of two of a kind, the one with less before it. */
function isEarlier(a: Split, b: Split): boolean {
  return a.found === b.found ? a.before.length < b.before.length : a.found;
}
