import type { Vocabulary } from '../alphabet';
import type { Merges } from '../bpe';
import { keepBpe, type KeptTables, recallBpe } from '../kept_tables';
import { MergeTable } from '../merge_table';
import { TokenTable } from '../token_table';
import { readMerges } from '../tokenizer_json';
import type { TextList } from './text_list';

/** Where the tables of a file are kept. */
export interface TablePlace {
  readonly kept: KeptTables;
  /** Differs between files. */
  readonly name: string;
}

export interface ByteLevelTables {
  /** Ids by text, of all tokens. */
  readonly ids: Vocabulary;
  /** Two tokens have one text: `ids` has the last of them. */
  readonly isAmbiguous: boolean;
  readonly merges: Merges;
}

/** Fewer merges are read in less time than they are worth to be kept. */
const MIN_KEPT_MERGES = 30_000;
const SPACE = 0x20;
const NOTHING = new Uint8Array();

/** The vocabulary and the merges of a byte-level tokenizer. `at`: where merges stand, for messages. Throws bad_model. */
export function byteLevelTables(
  file: string,
  texts: TextList,
  at: string,
  merges: TextList | null,
  place: TablePlace | null,
): ByteLevelTables {
  const isKept = place !== null && merges !== null && merges.length >= MIN_KEPT_MERGES;
  const known = isKept ? recallBpe(place.kept, place.name) : null;
  if (known !== null) return { ids: known.tokens, isAmbiguous: false, merges: known.merges };
  const tokens = tableOf(texts);
  const table = tokens === null || merges === null ? null : mergesOf(tokens, merges);
  if (tokens === null || table === null) {
    // Something is unusual, or wrong: this way is slower and says what.
    const ids = new Map(texts.toArray().map((text, id) => [text, id]));
    const list = readMerges(file, at, merges?.toArray(), ids);
    return { ids, isAmbiguous: ids.size < texts.length, merges: list };
  }
  if (isKept) keepBpe(place.kept, place.name, { rest: NOTHING, tokens, merges: table });
  return { ids: tokens, isAmbiguous: false, merges: table };
}

/** Null when two tokens have one text. */
function tableOf({ bytes, ends, length }: TextList): TokenTable | null {
  try {
    return TokenTable.build(bytes, length, ends, Int32Array.from(ends.keys()));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Merges as `a b`; null when one of them is of other tokens. */
function mergesOf(tokens: TokenTable, merges: TextList): MergeTable | null {
  const { bytes, ends } = merges;
  const table = new MergeTable(merges.length);
  let pair = new Uint8Array(256);
  let last = -2;
  let start = 0;
  for (let rank = 0; rank < ends.length; rank++) {
    const end = ends[rank] as number;
    if (end - start > pair.length) pair = new Uint8Array(2 * (end - start));
    let middle = -1;
    let length = 0;
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte !== SPACE) pair[length++] = byte;
      else if (middle < 0) middle = length;
      else return null;
    }
    if (middle < 0) return null;
    const left = tokens.find(pair, 0, middle);
    const right = tokens.find(pair, middle, length);
    // Most files number their tokens as they were merged.
    const result = tokens.find(pair, 0, length, last + 1);
    if (left < 0 || right < 0 || result < 0) return null;
    table.set(left, right, rank, result);
    last = result;
    start = end;
  }
  return table;
}
