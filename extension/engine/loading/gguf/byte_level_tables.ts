import type { Vocabulary } from '../alphabet';
import type { Merges } from '../bpe';
import { keepBpe, recallBpe, type TablePlace } from '../kept_tables';
import { MergeTable } from '../merge_table';
import type { TokenTable } from '../token_table';
import { readMerges } from '../tokenizer_json';
import type { TextList } from './text_list';
import { tableOf } from './token_texts';
import type { GgufVocabulary } from './vocabulary';

export interface ByteLevelTables {
  /** Ids by text, of all tokens. */
  readonly ids: Vocabulary;
  /** Two tokens have one text: `ids` has the last of them, or of those that text becomes. */
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
  vocabulary: Pick<GgufVocabulary, 'texts' | 'isPiece'>,
  at: string,
  merges: TextList | null,
  place: TablePlace | null,
): ByteLevelTables {
  const { texts } = vocabulary;
  const isKept = place !== null && merges !== null && merges.length >= MIN_KEPT_MERGES;
  const known = isKept ? recallBpe(place.kept, place.name) : null;
  if (known !== null) return { ids: known.tokens, isAmbiguous: false, merges: known.merges };
  const tokens = tableOf(texts);
  const table = tokens === null || merges === null ? null : mergesOf(tokens, merges);
  if (tokens === null || table === null) {
    // Something is unusual, or wrong: this way is slower and says what.
    const ids = idsOf(vocabulary);
    const list = readMerges(file, at, merges?.toArray(), ids);
    return { ids, isAmbiguous: ids.size < texts.length, merges: list };
  }
  if (isKept) keepBpe(place.kept, place.name, { rest: NOTHING, tokens, merges: table });
  return { ids: tokens, isAmbiguous: false, merges: table };
}

function idsOf({ texts, isPiece }: Pick<GgufVocabulary, 'texts' | 'isPiece'>): Map<string, number> {
  const ids = new Map<string, number>();
  for (const [id, text] of texts.toArray().entries()) {
    const other = ids.get(text);
    if (other === undefined || isPiece(id) || !isPiece(other)) ids.set(text, id);
  }
  return ids;
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
