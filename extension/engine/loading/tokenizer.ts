import { setImmediate } from 'node:timers/promises';
import { EngineError } from '../errors';
import { type AddedToken, AddedTokens, isControl } from './added_tokens';
import { type Alphabet, byteLevelAlphabet, characterAlphabet, type TokenTexts } from './alphabet';
import { badModel, quote } from './bad_model';
import { bpeEncoder } from './bpe';
import type { KeptTables } from './kept_tables';
import { allowedRoot } from './model_file';
import { textSplitter, type TextSplitter } from './text_splitter';
import { SliceCache } from './slice_cache';
import { LONG_TEXT, slicesOf } from './text_slices';
import { readTokenizerConfig, type TokenizerConfig } from './tokenizer_config';
import { readTokenizerJson, type TokenizerJson } from './tokenizer_json';
import { unigramEncoder } from './unigram';
import { WordCache } from './word_cache';

/** Text to token ids and back. Built once per model; safe to share. */
export interface Tokenizer {
  /** One more than the highest id. */
  readonly vocabSize: number;
  /** Ids that a sequence begins with, such as BOS; `encode` does not add them, and chat templates write their own. */
  readonly prefixIds: readonly number[];
  /** Ids that the tokenizer ends a whole text with, where it does: embedding models read their result there. */
  readonly suffixIds: readonly number[];
  /** The tokenizer's own end-of-sequence token. */
  readonly eosId: number | null;
  /** The texts of all control tokens. */
  readonly controlTexts: readonly string[];
  /** Ids of plain text. Text that looks like a control token is encoded as the characters it consists of. */
  encode(text: string): number[];
  /** Encodes a long text ahead, a slice at a time, so that `encode` finds it done and nobody else waits for it. */
  prepare(text: string): Promise<void>;
  /** As many tokens as the text has in any case, by its length; 0 where that says nothing. */
  leastTokens(text: string): number;
  /**
   * Ids of a rendered template: control tokens in the text become control tokens. `plain` maps each piece between
   * them before it is encoded as plain text.
   */
  encodeTemplate(text: string, plain?: (piece: string) => string): number[];
  /** Text of ids, control tokens included; bytes that are not UTF-8 become U+FFFD. */
  decode(ids: readonly number[]): string;
  /** The bytes that a token adds to a text; empty for an id that is not used. Must not be changed. */
  tokenBytes(id: number): Uint8Array;
  /** Id of the control token with this text. */
  specialId(text: string): number | null;
  /** True for control tokens, which plain text never encodes to. */
  isSpecial(id: number): boolean;
}

/** Between two looks at what else there is to do. */
const SLICE_MS = 4;
const UTF8 = new TextEncoder();
const EMPTY = new Uint8Array();

/** What a tokenizer is made of, whichever file it comes from. */
export interface TokenizerParts {
  readonly tokens: TokenTexts;
  readonly addedTokens: readonly AddedToken[];
  readonly alphabet: Alphabet;
  readonly splitter: Pick<TextSplitter, 'words' | 'keepsText'>;
  /** Ids of a word. */
  readonly encodeWord: (word: string) => readonly number[];
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  readonly eosId: number | null;
}

/** A tokenizer that works word by word. */
export class WordTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly prefixIds: readonly number[];
  readonly suffixIds: readonly number[];
  readonly eosId: number | null;
  readonly controlTexts: readonly string[];
  private readonly cache = new WordCache();
  private readonly slices = new SliceCache();
  private longestToken = 0;
  private readonly controls: ReadonlyMap<string, number>;
  private readonly controlIds: ReadonlySet<number>;
  private readonly added: ReadonlyMap<number, AddedToken>;
  private readonly inTemplates: AddedTokens;
  private readonly inText: AddedTokens;
  private readonly bytes: (Uint8Array | undefined)[] = [];

  constructor(private readonly parts: TokenizerParts) {
    const { addedTokens, tokens } = parts;
    this.added = new Map(addedTokens.map((token) => [token.id, token]));
    const controls = addedTokens.filter(isControl);
    this.controls = new Map(controls.map((token) => [token.content, token.id]));
    this.controlTexts = [...this.controls.keys()];
    this.controlIds = new Set(this.controls.values());
    this.inTemplates = new AddedTokens(addedTokens);
    this.inText = new AddedTokens(addedTokens.filter((token) => !isControl(token)));
    this.vocabSize = addedTokens.reduce(
      (size, token) => Math.max(size, token.id + 1),
      tokens.length,
    );
    this.prefixIds = parts.prefixIds;
    this.suffixIds = parts.suffixIds;
    this.eosId = parts.eosId;
  }

  /**
   * The same for a model with `rows` rows of embedding. Added tokens beyond them are dropped, as Gemma 3's for images of its
   * models without images: no text becomes them. Throws bad_model when a token of the vocabulary lies there.
   */
  within(rows: number): WordTokenizer {
    const { vocabSize, parts, added } = this;
    if (vocabSize <= rows) return this;
    const { tokens, addedTokens } = parts;
    for (let id = rows; id < tokens.length; id++) {
      if (tokens.at(id) === undefined || added.has(id)) continue;
      throw new EngineError(
        'bad_model',
        `tokenizer.json: token id ${tokens.length - 1} >= vocab_size ${rows} of config.json`,
      );
    }
    return new WordTokenizer({
      ...parts,
      tokens: { length: Math.min(tokens.length, rows), at: (id) => tokens.at(id) },
      addedTokens: addedTokens.filter(({ id }) => id < rows),
    });
  }

  encode(text: string): number[] {
    return this.encodeParts(this.inText.split(text));
  }

  async prepare(text: string): Promise<void> {
    if (!this.isSliced(text)) return;
    let started = performance.now();
    for (const slice of this.slicesOf(text)) {
      this.slices.get(slice, (part) => this.encodeWords(part, 0));
      if (performance.now() - started < SLICE_MS) continue;
      await setImmediate();
      started = performance.now();
    }
  }

  leastTokens(text: string): number {
    if (!this.isSliced(text)) return 0;
    this.longestToken ||= this.longest();
    return Math.ceil(Math.min(text.length, text.normalize('NFC').length) / this.longestToken);
  }

  encodeTemplate(text: string, plain = (piece: string) => piece): number[] {
    const parts = this.inTemplates.split(text);
    return this.encodeParts(parts.map((part) => (typeof part === 'string' ? plain(part) : part)));
  }

  decode(ids: readonly number[]): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
      Buffer.concat(ids.map((id) => this.tokenBytes(id))),
    );
  }

  tokenBytes(id: number): Uint8Array {
    return (this.bytes[id] ??= this.computeBytes(id));
  }

  specialId(text: string): number | null {
    return this.controls.get(text) ?? null;
  }

  isSpecial(id: number): boolean {
    return this.controlIds.has(id);
  }

  private encodeParts(parts: readonly (AddedToken | string)[]): number[] {
    const ids: number[] = [];
    parts.forEach((part, section) => {
      if (typeof part !== 'string') ids.push(part.id);
      else if (this.isSliced(part)) this.encodeSlices(part, ids);
      else this.encodeWords(part, section, ids);
    });
    return ids;
  }

  private encodeWords(text: string, section: number, ids: number[] = []): number[] {
    const { splitter, encodeWord } = this.parts;
    for (const word of splitter.words(text, section)) {
      // A loop, because a word can have more ids than a call takes arguments.
      for (const id of this.cache.get(word, encodeWord)) ids.push(id);
    }
    return ids;
  }

  private encodeSlices(text: string, ids: number[]): void {
    for (const slice of this.slicesOf(text)) {
      for (const id of this.slices.get(slice, (part) => this.encodeWords(part, 0))) ids.push(id);
    }
  }

  private isSliced(text: string): boolean {
    return text.length > LONG_TEXT && this.parts.splitter.keepsText;
  }

  private slicesOf(text: string): Iterable<string> {
    return slicesOf(text, (part) => this.parts.splitter.words(part, 0));
  }

  /** Characters that one token stands for, at most: its bytes, written as a character each, are no fewer. */
  private longest(): number {
    const { tokens, addedTokens } = this.parts;
    let most = addedTokens.reduce((longest, { content }) => Math.max(longest, content.length), 1);
    for (let id = 0; id < tokens.length; id++) most = Math.max(most, tokens.at(id)?.length ?? 0);
    return most;
  }

  private computeBytes(id: number): Uint8Array {
    const added = this.added.get(id);
    if (added !== undefined) return UTF8.encode(added.content);
    const token = this.parts.tokens.at(id);
    return token === undefined ? EMPTY : this.parts.alphabet.bytes(token);
  }
}

/** Loads the tokenizer of a model folder; `kept` makes it fast from the second time on. Throws EngineError bad_model or unsupported. */
export function loadTokenizer(folder: string, kept: KeptTables | null = null): WordTokenizer {
  const root = allowedRoot(folder);
  const json = readTokenizerJson(folder, root, kept);
  const config = readTokenizerConfig(folder, root);
  const { vocabulary, unknownId, tokens } = json;
  const addedTokens = withMissing(json, config.addedTokens);
  const splitter = textSplitter(json);
  const unknown = { byteFallback: json.byteFallback, unknownId, fuse: json.fuseUnknown };
  const alphabet = splitter.byteLevel
    ? byteLevelAlphabet(vocabulary, unknownId)
    : characterAlphabet(vocabulary, unknown);
  const controls = new Map(
    addedTokens.filter(isControl).map((token) => [token.content, token.id] as const),
  );
  const idOf = (text: string) => controls.get(text) ?? vocabulary.get(text);
  return new WordTokenizer({
    tokens,
    addedTokens,
    alphabet,
    splitter,
    encodeWord: wordEncoder(json, alphabet, new Set(controls.values())),
    prefixIds: sequencePrefix(config, json.file, splitter.prefix, idOf),
    suffixIds: declaredIds(json.file, splitter.suffix, idOf),
    eosId: namedId(config, 'eos_token', idOf),
  });
}

/** The added tokens of tokenizer.json, and those of tokenizer_config.json whose ids nothing else has: fine-tunes add some. */
function withMissing(
  { addedTokens, tokens }: TokenizerJson,
  more: readonly AddedToken[],
): AddedToken[] {
  const texts = new Set(addedTokens.map(({ content }) => content));
  const ids = new Set(addedTokens.map(({ id }) => id));
  const isMissing = ({ id, content }: AddedToken) =>
    !texts.has(content) && !ids.has(id) && (tokens.at(id) ?? content) === content;
  return [...addedTokens, ...more.filter(isMissing)];
}

function wordEncoder(
  { model, vocabulary }: TokenizerJson,
  alphabet: Alphabet,
  controlIds: ReadonlySet<number>,
): TokenizerParts['encodeWord'] {
  switch (model.type) {
    case 'BPE':
      return bpeEncoder(model.merges, alphabet, model.ignoreMerges ? vocabulary : null, controlIds);
    case 'Unigram': {
      const pieces = [...model.pieces].filter(([, id]) => !controlIds.has(id));
      return unigramEncoder(new Map(pieces), model.scores, alphabet);
    }
  }
}

type IdOf = (text: string) => number | undefined;

function namedId(
  config: TokenizerConfig,
  key: 'bos_token' | 'eos_token',
  idOf: IdOf,
): number | null {
  const text = config.tokens[key];
  if (text === undefined) return null;
  const id = idOf(text);
  if (id === undefined)
    throw badModel(config.file, `${key}: ${quote(text)} is not in tokenizer.json`);
  return id;
}

function sequencePrefix(
  config: TokenizerConfig,
  file: string,
  declared: readonly string[],
  idOf: IdOf,
): number[] {
  const bos = namedId(config, 'bos_token', idOf);
  if (config.addBosToken === true && bos !== null) return [bos];
  if (config.addBosToken === false) return [];
  return declaredIds(file, declared, idOf);
}

function declaredIds(file: string, texts: readonly string[], idOf: IdOf): number[] {
  return texts.map((text) => {
    const id = idOf(text);
    if (id !== undefined) return id;
    throw badModel(file, `post_processor: ${quote(text)} is not in the vocabulary`);
  });
}
