import type { AnswerParser, AnswerPart } from './answer_part';
import { isObjectText } from './tools/call_parser';

const MESSAGE = '<|message|>';
/** A message ends with one of these, or with the answer. */
const ENDS = ['<|end|>', '<|call|>', '<|return|>', '<|start|>'];
const MARK = '<|';

type Kind = 'reasoning' | 'text' | 'call';

/**
 * The answers of gpt-oss, which are several messages: `<|channel|>analysis<|message|>…<|end|><|start|>assistant
 * <|channel|>final<|message|>…`; a call is a message to a function. https://cookbook.openai.com/articles/openai-harmony
 */
export class HarmonyParser implements AnswerParser {
  private held = '';
  private kind: Kind | 'header' = 'header';
  private functionName = '';
  private functionArguments = '';

  push(delta: string): AnswerPart[] {
    this.held += delta;
    const out: AnswerPart[] = [];
    while (this.kind === 'header' ? this.readHeader() : this.readBody(out));
    return out;
  }

  flush(): AnswerPart[] {
    const out: AnswerPart[] = [];
    // Without any message, the text is what it is.
    if (this.kind === 'header') this.kind = 'text';
    this.take(out, this.held);
    this.held = '';
    this.endMessage(out);
    return out;
  }

  /** True when there is more to look at. */
  private readHeader(): boolean {
    const at = this.held.indexOf(MESSAGE);
    if (at < 0) return false;
    const header = this.held.slice(0, at);
    this.held = this.held.slice(at + MESSAGE.length);
    const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1];
    const recipient = /to=functions\.([\w.:/-]+)/.exec(header)?.[1];
    this.functionName = recipient ?? '';
    this.functionArguments = '';
    this.kind = recipient !== undefined ? 'call' : channel === 'analysis' ? 'reasoning' : 'text';
    return true;
  }

  private readBody(out: AnswerPart[]): boolean {
    const at = this.held.indexOf(MARK);
    const cut = at >= 0 ? at : this.held.endsWith('<') ? this.held.length - 1 : this.held.length;
    this.take(out, this.held.slice(0, cut));
    this.held = this.held.slice(cut);
    if (at < 0) return false;
    const end = ENDS.find((tag) => this.held.startsWith(tag));
    if (end !== undefined) {
      this.held = this.held.slice(end.length);
      this.endMessage(out);
      return true;
    }
    if (ENDS.some((tag) => tag.startsWith(this.held))) return false;
    this.take(out, MARK);
    this.held = this.held.slice(MARK.length);
    return true;
  }

  private take(out: AnswerPart[], text: string): void {
    const { kind } = this;
    if (text === '' || kind === 'header') return;
    if (kind === 'call') this.functionArguments += text;
    else out.push({ kind, text });
  }

  private endMessage(out: AnswerPart[]): void {
    const { kind, functionName: name, functionArguments: text } = this;
    this.kind = 'header';
    if (kind !== 'call') return;
    if (isObjectText(text)) out.push({ kind: 'call', call: { name, arguments: text.trim() } });
    else if (text !== '') out.push({ kind: 'text', text });
  }
}
