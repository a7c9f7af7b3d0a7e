import type { ThoughtOrText } from './reasoning';
import type { TextOrCall } from './tools/call_parser';

export type AnswerPart = ThoughtOrText | Extract<TextOrCall, { readonly kind: 'call' }>;

/** Tells thoughts, text and calls of an answer apart; the same for any cut of the text into pieces. */
export interface AnswerParser {
  push(delta: string): AnswerPart[];
  /** The rest, when no more text comes. */
  flush(): AnswerPart[];
}
