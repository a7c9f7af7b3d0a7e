import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AddedToken } from './added_tokens';
import type { TokenTexts, Vocabulary } from './alphabet';
import { badModel, quote, unsupportedModel } from './bad_model';
import { type BpeFile, readBpeFile } from './bpe_file';
import { isJsonObject, type JsonObject, kindOf, parseJsonObject, withFile } from './json_file';
import { keepBpe, type KeptTables, recallBpe, tablesName } from './kept_tables';
import { MergeTable } from './merge_table';

export const TOKENIZER_FILE = 'tokenizer.json';
/** The largest vocabularies, of 262,144 tokens, take 33 MB. */
const MAX_TOKENIZER_BYTES = 64 * 1024 * 1024;
/** Two megabytes hold some 30,000 tokens, which are read in some 20 milliseconds. */
const MIN_KEPT_BYTES = 2 * 1024 * 1024;
const MAX_TOKENS = 1 << 20;
/** Ids may have gaps, but a table of them must stay small. */
const MAX_ID = 1 << 22;
const MAX_TOKEN_LENGTH = 2_048;
const BPE_LIMITS = { tokens: MAX_TOKENS, tokenLength: MAX_TOKEN_LENGTH } as const;

/** How words become tokens. */
export type WordModel =
  | {
      readonly type: 'BPE';
      readonly merges: MergeTable;
      /** A word that is a token as a whole is not merged. */
      readonly ignoreMerges: boolean;
    }
  /** The tokens once more, and log probabilities by id. */
  | {
      readonly type: 'Unigram';
      readonly pieces: ReadonlyMap<string, number>;
      readonly scores: readonly number[];
    };

/** The parts of a checked tokenizer.json. */
export interface TokenizerJson {
  readonly file: string;
  /** Ordinary tokens. */
  readonly vocabulary: Vocabulary;
  /** The same by id. */
  readonly tokens: TokenTexts;
  readonly model: WordModel;
  readonly addedTokens: readonly AddedToken[];
  readonly unknownId: number | null;
  readonly byteFallback: boolean;
  readonly fuseUnknown: boolean;
  readonly normalizer: JsonObject | null;
  readonly preTokenizer: JsonObject | null;
  readonly postProcessor: JsonObject | null;
  readonly decoder: JsonObject | null;
}

/**
 * Reads and checks the tokenizer.json of a model folder, or takes its large parts from `kept`. Throws EngineError bad_model,
 * or unsupported for a model other than BPE and Unigram.
 */
export function readTokenizerJson(
  folder: string,
  root: string,
  kept: KeptTables | null = null,
): TokenizerJson {
  const file = join(folder, TOKENIZER_FILE);
  if (!existsSync(file)) throw missing(folder, file);
  return withFile(file, root, MAX_TOKENIZER_BYTES, (opened) => {
    const isKept = kept !== null && opened.size >= MIN_KEPT_BYTES;
    const name = isKept ? tablesName(opened.identity()) : '';
    const recalled = isKept ? recallBpe(kept, name) : null;
    if (recalled !== null) return assemble(file, recalled.rest, recalled);
    const bytes = opened.read(0, opened.size);
    const bpe = readBpeFile(bytes, BPE_LIMITS);
    const json = assemble(file, bytes, bpe);
    if (isKept && bpe !== null && json.tokens === bpe.tokens) keepBpe(kept, name, bpe);
    return json;
  });
}

/** Names the other form of a tokenizer that a folder has. */
function missing(folder: string, file: string): Error {
  const other = ['tekken.json', 'tokenizer.model'].find((name) => existsSync(join(folder, name)));
  if (other === undefined) return badModel(file, 'missing');
  return unsupportedModel(
    file,
    `missing; ${other} is not read: take a conversion of the model with ${TOKENIZER_FILE}, or a GGUF file`,
  );
}

/** `bytes`: the whole file, unless its large parts are in `bpe`. */
function assemble(file: string, bytes: Uint8Array, bpe: BpeFile | null): TokenizerJson {
  const json = parseJsonObject(file, bpe?.rest ?? bytes);
  const model = section(file, json, 'model');
  if (model === null) throw badModel(file, 'model: missing');
  const type = modelType(file, model);
  const tables =
    bpe !== null && type === 'BPE' && isJsonObject(model.vocab) && Array.isArray(model.merges)
      ? { vocabulary: bpe.tokens, tokens: bpe.tokens, model: bpeModel(model, bpe.merges) }
      : readTables(
          file,
          type,
          bpe === null ? model : (section(file, parseJsonObject(file, bytes), 'model') ?? model),
        );
  const { vocabulary, tokens } = tables;
  return {
    file,
    ...tables,
    addedTokens: readAddedTokens(file, json.added_tokens, tokens),
    unknownId: type === 'BPE' ? unknownToken(model, vocabulary) : unknownIndex(model),
    byteFallback: model.byte_fallback === true,
    fuseUnknown: type === 'Unigram' || model.fuse_unk === true,
    normalizer: section(file, json, 'normalizer'),
    preTokenizer: section(file, json, 'pre_tokenizer'),
    postProcessor: section(file, json, 'post_processor'),
    decoder: section(file, json, 'decoder'),
  };
}

function bpeModel(model: JsonObject, merges: MergeTable): WordModel {
  return { type: 'BPE', merges, ignoreMerges: model.ignore_merges === true };
}

/** Any file, with a word for whatever is wrong. */
function readTables(
  file: string,
  type: WordModel['type'],
  model: JsonObject,
): Pick<TokenizerJson, 'vocabulary' | 'tokens' | 'model'> {
  const entries = type === 'BPE' ? namedTokens(file, model.vocab) : scoredTokens(file, model.vocab);
  const { vocabulary, tokens } = tokenTables(file, entries);
  if (type === 'BPE') {
    const merges = readMerges(file, 'model.merges', model.merges, vocabulary);
    return { vocabulary, tokens, model: bpeModel(model, merges) };
  }
  const pieces = { type, pieces: vocabulary, scores: entries.map(({ score }) => score) };
  return { vocabulary, tokens, model: pieces };
}

function unknownToken({ unk_token: unknown }: JsonObject, vocabulary: Vocabulary): number | null {
  return typeof unknown === 'string' ? (vocabulary.get(unknown) ?? null) : null;
}

function unknownIndex({ unk_id: unknown }: JsonObject): number | null {
  return typeof unknown === 'number' ? unknown : null;
}

function section(file: string, json: JsonObject, key: string): JsonObject | null {
  const value = json[key] ?? null;
  if (value === null || isJsonObject(value)) return value;
  throw badModel(file, `${key}: got ${kindOf(value)}, expected an object`);
}

function modelType(file: string, model: JsonObject): WordModel['type'] {
  // Files of old exporters leave the type out; merges tell.
  const type = model.type ?? (model.merges === undefined ? undefined : 'BPE');
  if (type !== 'BPE' && type !== 'Unigram') {
    const expected = 'expected "BPE" or "Unigram"';
    throw unsupportedModel(file, `model.type ${quote(type)} not supported: ${expected}`);
  }
  for (const key of ['continuing_subword_prefix', 'end_of_word_suffix', 'dropout']) {
    const value = model[key] ?? null;
    if (value !== null && value !== '' && value !== 0) {
      throw unsupportedModel(file, `model.${key} ${quote(value)} not supported`);
    }
  }
  return type;
}

interface VocabularyEntry {
  readonly token: string;
  readonly id: unknown;
  /** Log probability; 0 where the model has none. */
  readonly score: number;
}

/** BPE: token → id. */
function namedTokens(file: string, vocab: unknown): VocabularyEntry[] {
  if (!isJsonObject(vocab)) {
    throw badModel(file, `model.vocab: got ${kindOf(vocab)}, expected an object`);
  }
  return Object.entries(vocab).map(([token, id]) => ({ token, id, score: 0 }));
}

/** Unigram: [token, score] by id. */
function scoredTokens(file: string, vocab: unknown): VocabularyEntry[] {
  if (!Array.isArray(vocab)) {
    throw badModel(file, `model.vocab: got ${kindOf(vocab)}, expected an array`);
  }
  return (vocab as unknown[]).map((entry, id) => {
    const [token, score] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (typeof token === 'string' && typeof score === 'number') return { token, id, score };
    throw badModel(file, `model.vocab[${id}]: got ${quote(entry)}, expected a token and its score`);
  });
}

interface VocabularyTables {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly tokens: readonly (string | undefined)[];
}

function tokenTables(file: string, entries: readonly VocabularyEntry[]): VocabularyTables {
  if (entries.length > MAX_TOKENS) {
    const problem = `got ${entries.length} tokens, expected at most ${MAX_TOKENS}`;
    throw badModel(file, `model.vocab: ${problem}`);
  }
  const vocabulary = new Map<string, number>();
  const tokens: (string | undefined)[] = [];
  for (const { token, id: value } of entries) {
    const id = checkToken(file, 'model.vocab', token, value);
    const other = tokens[id];
    if (other !== undefined) {
      throw badModel(file, `model.vocab: id ${id} is both ${quote(other)} and ${quote(token)}`);
    }
    tokens[id] = token;
    vocabulary.set(token, id);
  }
  return { vocabulary, tokens };
}

function checkToken(file: string, section: string, content: string, id: unknown): number {
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < MAX_ID;
  if (isId && content.length <= MAX_TOKEN_LENGTH) return id;
  const problem = isId
    ? `got ${content.length} characters, expected at most ${MAX_TOKEN_LENGTH}`
    : `bad id ${quote(id)}, expected 0 to ${MAX_ID - 1}`;
  throw badModel(file, `${section}: token ${quote(content)}: ${problem}`);
}

/** Merges as `"a b"` or `["a", "b"]`, the first of lowest rank; `at` is where they stand in the file. */
export function readMerges(
  file: string,
  at: string,
  merges: unknown,
  vocabulary: ReadonlyMap<string, number>,
): MergeTable {
  if (!Array.isArray(merges) || merges.length > MAX_TOKENS) {
    const got = Array.isArray(merges) ? `${merges.length} entries` : kindOf(merges);
    throw badModel(file, `${at}: got ${got}, expected an array of at most ${MAX_TOKENS}`);
  }
  const table = new MergeTable(merges.length);
  const wrong = (rank: number, problem: string) =>
    badModel(file, `${at}[${rank}]: ${quote(merges[rank])}: ${problem}`);
  for (const [rank, merge] of (merges as unknown[]).entries()) {
    const parts: unknown = typeof merge === 'string' ? merge.split(' ') : merge;
    if (!isPair(parts)) throw wrong(rank, 'expected two tokens');
    const [left, right] = parts;
    const leftId = vocabulary.get(left);
    const rightId = vocabulary.get(right);
    const result = vocabulary.get(left + right);
    if (leftId === undefined || rightId === undefined || result === undefined) {
      throw wrong(rank, 'its parts and its result must be in the vocabulary');
    }
    table.set(leftId, rightId, rank, result);
  }
  return table;
}

function isPair(parts: unknown): parts is [string, string] {
  if (!Array.isArray(parts) || parts.length !== 2) return false;
  return typeof parts[0] === 'string' && typeof parts[1] === 'string';
}

function readAddedTokens(file: string, list: unknown, tokens: TokenTexts): AddedToken[] {
  const entries: unknown = list ?? [];
  if (!Array.isArray(entries) || entries.length > MAX_TOKENS) {
    throw badModel(file, `added_tokens: expected an array of at most ${MAX_TOKENS}`);
  }
  const seen = new Map<number, string>();
  return entries.map((entry: unknown, i) => {
    const at = `added_tokens[${i}]`;
    if (!isJsonObject(entry))
      throw badModel(file, `${at}: got ${kindOf(entry)}, expected an object`);
    const { content } = entry;
    if (typeof content !== 'string' || content === '') throw badModel(file, `${at}: empty content`);
    const id = checkToken(file, at, content, entry.id);
    const other = seen.get(id) ?? tokens.at(id) ?? content;
    if (other !== content)
      throw badModel(file, `${at}: id ${id} is both ${quote(other)} and ${quote(content)}`);
    seen.set(id, content);
    return {
      id,
      content,
      special: entry.special === true,
      lstrip: entry.lstrip === true,
      rstrip: entry.rstrip === true,
      singleWord: entry.single_word === true,
    };
  });
}
