import { splitAtTag } from './tag';

export const THINK_START = '<think>';
export const THINK_END = '</think>';

export interface ThoughtOrText {
  readonly kind: 'reasoning' | 'text';
  readonly text: string;
}

/** Tells the thoughts of a model that writes `<think>…</think>` before its answer from the answer. */
export class ReasoningSplitter {
  private state: 'start' | 'thinking' | 'after' | 'answer' = 'start';
  private held = '';
  private thought = false;

  /** `inside`: the prompt ends with the opening tag, so that the first token is a thought already. */
  constructor(inside: boolean) {
    if (inside) this.state = 'thinking';
  }

  push(delta: string): ThoughtOrText[] {
    this.held += delta;
    const out: ThoughtOrText[] = [];
    if (this.state === 'start') this.start();
    if (this.state === 'thinking') this.think(out);
    if (this.state === 'after') this.skipBlank();
    if (this.state === 'answer') this.emit(out, 'text', this.take());
    return out;
  }

  /** What was held back because it could have been a tag. */
  flush(): ThoughtOrText[] {
    const out: ThoughtOrText[] = [];
    this.emit(out, this.state === 'thinking' ? 'reasoning' : 'text', this.take());
    return out;
  }

  /** Only a tag that the answer begins with counts: later ones are what somebody writes about. */
  private start(): void {
    const text = this.held.trimStart();
    if (text.startsWith(THINK_START)) {
      this.held = text.slice(THINK_START.length);
      this.state = 'thinking';
    } else if (!THINK_START.startsWith(text)) {
      this.state = 'answer';
    }
  }

  private think(out: ThoughtOrText[]): void {
    if (!this.thought) this.held = this.held.trimStart();
    const { before, found, rest } = splitAtTag(this.held, THINK_END);
    this.held = rest;
    this.emit(out, 'reasoning', before);
    if (before !== '') this.thought = true;
    if (found) this.state = 'after';
  }

  private skipBlank(): void {
    this.held = this.held.trimStart();
    if (this.held !== '') this.state = 'answer';
  }

  private take(): string {
    const text = this.held;
    this.held = '';
    return text;
  }

  private emit(out: ThoughtOrText[], kind: ThoughtOrText['kind'], text: string): void {
    if (text !== '') out.push({ kind, text });
  }
}
