import type { Vocabulary } from '../alphabet';
import type { Merges } from '../bpe';
import { keepScored, recallScored, type ScoredTables, type TablePlace } from '../kept_tables';
import { tableOf } from './token_texts';
import type { GgufVocabulary } from './vocabulary';

/** SentencePiece's mark for a space. */
const SPACE = '▁';
/** Fewer tokens are read in less time than they are worth to be kept. */
const MIN_KEPT_TOKENS = 30_000;

export interface SentencePieceTables {
  /** Ids by text, of all tokens that text may become. */
  readonly ids: Vocabulary;
  /** Some piece has a mark behind another character. */
  readonly crosses: boolean;
  readonly merges: Merges;
}

/**
 * SentencePiece's byte-pair encoding as GGUF stores it: no list of merges but a score a token. Two neighbours merge when
 * what they spell is a piece; the highest score goes first.
 */
export function sentencePieceTables(
  vocabulary: GgufVocabulary,
  scores: readonly number[],
  place: TablePlace | null,
): SentencePieceTables {
  const keptIn = vocabulary.texts.length >= MIN_KEPT_TOKENS ? place : null;
  const known = keptIn && recallScored(keptIn);
  if (known !== null) return tablesOf(vocabulary, known);
  const tokens = tableOf(vocabulary.texts);
  const ranks = ranksOf(scores);
  const crosses = hasMarkInside(vocabulary);
  if (tokens === null) return tablesOfTexts(vocabulary, ranks, crosses);
  const tables = { tokens, ranks, crosses };
  if (keptIn !== null) keepScored(keptIn, tables);
  return tablesOf(vocabulary, tables);
}

function tablesOf({ isPiece }: GgufVocabulary, tables: ScoredTables): SentencePieceTables {
  const { tokens, ranks, crosses } = tables;
  const join = (left: number, right: number) => {
    const id = tokens.findJoined(left, right);
    return id !== -1 && isPiece(id) ? id : -1;
  };
  return { ids: tokens, crosses, merges: scoredMerges(join, ranks) };
}

/** Where two tokens have one text: it is that of a piece if it can be. */
function tablesOfTexts(
  { texts, isPiece, isByte }: GgufVocabulary,
  ranks: Int32Array,
  crosses: boolean,
): SentencePieceTables {
  const all = texts.toArray();
  const idsOf = (isWanted: (id: number) => boolean) =>
    new Map(all.map((text, id) => [text, id] as const).filter(([, id]) => isWanted(id)));
  const pieces = idsOf(isPiece);
  const ids = new Map([...pieces, ...idsOf(isByte)]);
  const join = (left: number, right: number) => pieces.get(`${all[left]}${all[right]}`) ?? -1;
  return { ids, crosses, merges: scoredMerges(join, ranks) };
}

/** Tokens are their own handles. */
function scoredMerges(join: Merges['find'], ranks: Int32Array): Merges {
  return { find: join, rank: (id) => ranks[id] ?? 0, result: (id) => id };
}

function ranksOf(scores: readonly number[]): Int32Array {
  const order = [...new Set(scores)].sort((a, b) => b - a);
  const rankOf = new Map(order.map((score, rank) => [score, rank]));
  return Int32Array.from(scores, (score) => rankOf.get(score) ?? 0);
}

function hasMarkInside({ texts, isPiece }: GgufVocabulary): boolean {
  for (let id = 0; id < texts.length; id++) {
    if (isPiece(id) && /[^▁]▁/u.test(texts.at(id) ?? '')) return true;
  }
  return false;
}

/**
 * Cuts text into words: spaces become marks, with one more before a text when `addPrefix`. Unless a piece `crosses`,
 * merges never cross the beginning of a run of marks, and words may be encoded, and cached, one by one.
 */
export function sentencePieceSplitter(
  crosses: boolean,
  addPrefix: boolean,
): (text: string) => string[] {
  return (text) => {
    if (text === '') return [];
    const marked = (addPrefix ? SPACE : '') + text.replaceAll(' ', SPACE);
    return crosses ? [marked] : (marked.match(/▁+[^▁]*|[^▁]+/gu) ?? []);
  };
}
