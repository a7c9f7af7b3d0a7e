import type { Tokenizer } from './tokenizer';

/** Tokens that end a turn, which files often name only in the chat template. */
export const END_OF_TURN = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '<|end_of_text|>',
] as const;

/** Of gpt-oss, whose answers are several messages: each ends with `<|end|>`, the last with another one. */
const LAST_MESSAGE = ['<|return|>', '<|call|>'];

/** Those that the tokenizer has. */
export function endOfTurnIds(tokenizer: Pick<Tokenizer, 'specialId'>): number[] {
  const has = (text: string) => tokenizer.specialId(text) !== null;
  const texts = END_OF_TURN.filter((text) => text !== '<|end|>' || !LAST_MESSAGE.every(has));
  return texts.map((text) => tokenizer.specialId(text)).filter((id) => id !== null);
}
