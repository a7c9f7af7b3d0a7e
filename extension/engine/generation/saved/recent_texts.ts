import { commonPrefix } from '../../cache/prefix';

/** More conversations than go on at once. */
const MAX_TEXTS = 8;

/** The latest texts, each once: a text takes the place of one that it has begun with, or mostly. */
export class RecentTexts {
  /** Oldest first. */
  private texts: (readonly number[])[] = [];

  add(tokens: readonly number[]): void {
    const others = this.texts.filter((text) => commonPrefix(text, tokens) <= text.length / 2);
    this.texts = [...others.slice(1 - MAX_TEXTS), tokens];
  }

  /** The latest text, which is forgotten. */
  take(): readonly number[] | undefined {
    return this.texts.pop();
  }

  clear(): void {
    this.texts = [];
  }

  /** Puts a text back that was taken, unless a newer one stands for it. */
  putBack(tokens: readonly number[]): void {
    const isKnown = this.texts.some((text) => commonPrefix(text, tokens) > tokens.length / 2);
    if (!isKnown) this.texts.push(tokens);
  }
}
