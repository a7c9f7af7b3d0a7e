import { isControl } from '../added_tokens';
import { byteLevelAlphabet, characterAlphabet, type Vocabulary } from '../alphabet';
import { badModel, quote, unsupportedModel } from '../bad_model';
import { bpeEncoder } from '../bpe';
import type { JsonObject } from '../json_file';
import type { TablePlace } from '../kept_tables';
import { textSplitter } from '../text_splitter';
import { type TokenizerParts, WordTokenizer } from '../tokenizer';
import { byteLevelTables } from './byte_level_tables';
import { PRE_TOKENIZERS } from './pre_tokenizers';
import { sentencePieceSplitter, sentencePieceTables } from './sentence_piece';
import { type GgufVocabulary, readVocabulary } from './vocabulary';
import { type GgufMetadata, MERGES_KEY } from './metadata';
import { TextList } from './text_list';

/** The tokenizer that the metadata of a GGUF file describe. Throws EngineError bad_model or unsupported. */
export function ggufTokenizer(
  file: string,
  metadata: GgufMetadata,
  place: TablePlace | null,
): WordTokenizer {
  const vocabulary = readVocabulary(file, metadata);
  const { model, tokens, addedTokens } = vocabulary;
  const controlIds = new Set(addedTokens.filter(isControl).map(({ id }) => id));
  switch (model) {
    case 'gpt2':
      return new WordTokenizer({
        tokens,
        addedTokens,
        ...byteLevel(file, metadata, vocabulary, controlIds, place),
        suffixIds: vocabulary.suffixIds,
        eosId: vocabulary.eosId,
      });
    case 'llama':
      return new WordTokenizer({
        tokens,
        addedTokens,
        ...sentencePiece(file, metadata, vocabulary, controlIds, place),
        suffixIds: vocabulary.suffixIds,
        eosId: vocabulary.eosId,
      });
  }
}

type WordParts = Pick<TokenizerParts, 'alphabet' | 'splitter' | 'encodeWord' | 'prefixIds'>;

/** Byte-level BPE with a list of merges. */
function byteLevel(
  file: string,
  metadata: GgufMetadata,
  vocabulary: GgufVocabulary,
  controlIds: ReadonlySet<number>,
  place: TablePlace | null,
): WordParts {
  const name = metadata.get('tokenizer.ggml.pre') ?? 'default';
  const pre = typeof name === 'string' ? PRE_TOKENIZERS.get(name) : undefined;
  if (pre === undefined) {
    const known = [...PRE_TOKENIZERS.keys()].sort().join(', ');
    throw unsupportedModel(
      file,
      `tokenizer.ggml.pre ${quote(name)} is not supported; supported: ${known}`,
    );
  }
  const steps: JsonObject[] = pre.patterns.map((pattern) => ({
    type: 'Split',
    pattern: { Regex: pattern },
    behavior: 'Isolated',
    invert: false,
  }));
  const byteLevelStep = { type: 'ByteLevel', add_prefix_space: false, use_regex: false };
  const splitter = textSplitter({
    file,
    normalizer: null,
    preTokenizer: { type: 'Sequence', pretokenizers: [...steps, byteLevelStep] },
    postProcessor: null,
  });
  const { texts, isPiece } = vocabulary;
  const list = metadata.get(MERGES_KEY);
  const mergeTexts = list instanceof TextList ? list : null;
  const tables = byteLevelTables(file, vocabulary, MERGES_KEY, mergeTexts, place);
  const { ids, isAmbiguous, merges } = tables;
  const pieces: Vocabulary = isAmbiguous
    ? textsOf(texts, isPiece)
    : {
        get(text) {
          const id = ids.get(text);
          return id !== undefined && isPiece(id) ? id : undefined;
        },
      };
  const alphabet = byteLevelAlphabet(pieces, null);
  return {
    alphabet,
    splitter,
    encodeWord: bpeEncoder(merges, alphabet, pre.ignoreMerges ? pieces : null, controlIds),
    prefixIds: vocabulary.prefixIds(pre.addBos),
  };
}

/** SentencePiece: characters that merge by score, and a token for every byte. */
function sentencePiece(
  file: string,
  metadata: GgufMetadata,
  vocabulary: GgufVocabulary,
  controlIds: ReadonlySet<number>,
  place: TablePlace | null,
): WordParts {
  const { isPiece, isByte, texts, unknownId } = vocabulary;
  const scores = metadata.get('tokenizer.ggml.scores');
  if (!Array.isArray(scores) || scores.length !== texts.length || !scores.every(Number.isFinite)) {
    throw badModel(file, `tokenizer.ggml.scores: expected ${texts.length} numbers`);
  }
  const { ids, crosses, merges } = sentencePieceTables(
    vocabulary,
    scores as readonly number[],
    place,
  );
  const unknown = { byteFallback: true, unknownId, fuse: true };
  const symbols: Vocabulary = {
    get(text) {
      const id = ids.get(text);
      return id !== undefined && (isPiece(id) || isByte(id)) ? id : undefined;
    },
  };
  const alphabet = characterAlphabet(symbols, unknown);
  const addPrefix = metadata.get('tokenizer.ggml.add_space_prefix') !== false;
  return {
    alphabet,
    splitter: { words: sentencePieceSplitter(crosses, addPrefix), keepsText: false },
    encodeWord: bpeEncoder(merges, alphabet, null, controlIds),
    prefixIds: vocabulary.prefixIds(true),
  };
}

/** Ids by text, of some tokens. */
function textsOf(texts: TextList, isWanted: (id: number) => boolean): ReadonlyMap<string, number> {
  const entries = texts.toArray().map((text, id) => [text, id] as const);
  return new Map(entries.filter(([, id]) => isWanted(id)));
}
