import { estimateTokens } from './estimate';

/** Shorter texts are estimated: the sum of many is what matters, and their number is what costs. */
const EXACT_FROM_CHARS = 512;
const MAX_REMEMBERED = 2000;
/** Texts in one request to the engine. */
const MAX_BATCH = 256;

export interface TokenCounterOptions {
  /** The engine's tokenizer, for many texts at once. */
  readonly countExactly: (texts: readonly string[]) => Promise<readonly number[]>;
  /** True while the model is loaded: no model is loaded for the sake of a count. */
  readonly isLoaded: () => boolean;
}

/** Counts tokens at once where nobody notices the difference, and exactly where it is worth a question to the engine. */
export class TokenCounter {
  private readonly known = new Map<string, Promise<number> | number>();
  private waiting: { text: string; resolve: (count: number) => void }[] = [];

  constructor(private readonly options: TokenCounterOptions) {}

  count(text: string): number | Promise<number> {
    if (text.length < EXACT_FROM_CHARS || !this.options.isLoaded()) return estimateTokens(text);
    const known = this.known.get(text);
    if (known !== undefined) return known;
    const counted = this.ask(text);
    this.remember(text, counted);
    return counted;
  }

  /** Another model counts otherwise. */
  forget(): void {
    this.known.clear();
  }

  private ask(text: string): Promise<number> {
    return new Promise((resolve) => {
      this.waiting.push({ text, resolve });
      // All that is asked in this turn of the event loop is one request.
      if (this.waiting.length === 1) setImmediate(() => void this.send());
    });
  }

  private async send(): Promise<void> {
    const all = this.waiting;
    this.waiting = [];
    for (let at = 0; at < all.length; at += MAX_BATCH) {
      const batch = all.slice(at, at + MAX_BATCH);
      const texts = batch.map(({ text }) => text);
      const counts = await this.options.countExactly(texts).catch(() => []);
      batch.forEach(({ text, resolve }, index) => resolve(counts[index] ?? estimateTokens(text)));
    }
  }

  private remember(text: string, count: Promise<number>): void {
    const oldest = this.known.keys().next();
    if (this.known.size >= MAX_REMEMBERED && !oldest.done) this.known.delete(oldest.value);
    this.known.set(text, count);
  }
}
