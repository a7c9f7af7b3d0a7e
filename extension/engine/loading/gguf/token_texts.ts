import { TokenTable } from '../token_table';
import type { TextList } from './text_list';

/** Null when two tokens have one text. */
export function tableOf({ bytes, ends, length }: TextList): TokenTable | null {
  try {
    return TokenTable.build(bytes, length, ends, Int32Array.from(ends.keys()));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
