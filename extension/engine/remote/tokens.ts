/** Of source text, by the tokenizers of today's models: a count that is too high costs a little context, one too low an error. */
const CHARS_PER_TOKEN = 3;

/** About how many tokens a text has, for a tokenizer that is elsewhere. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}
