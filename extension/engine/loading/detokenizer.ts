import type { Tokenizer } from './tokenizer';

/** Token ids to text as they come: a character whose bytes span tokens appears with its last token, never in part. */
export class Detokenizer {
  // A byte order mark is text here.
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(private readonly tokenizer: Pick<Tokenizer, 'tokenBytes'>) {}

  /** The text that token `id` completes; may be empty. */
  push(id: number): string {
    return this.pushBytes(this.tokenizer.tokenBytes(id));
  }

  pushBytes(bytes: Uint8Array): string {
    return this.decoder.decode(bytes, { stream: true });
  }

  /** The end of the text: an unfinished character becomes U+FFFD. The detokenizer can then be used again. */
  flush(): string {
    return this.decoder.decode();
  }
}
