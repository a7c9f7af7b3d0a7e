import { isControl } from '../added_tokens';
import { byteLevelAlphabet, characterAlphabet } from '../alphabet';
import { badModel, quote, unsupportedModel } from '../bad_model';
import { bpeEncoder } from '../bpe';
import type { JsonObject } from '../json_file';
import { textSplitter } from '../text_splitter';
import { type Tokenizer, type TokenizerParts, WordTokenizer } from '../tokenizer';
import { readMerges } from '../tokenizer_json';
import { PRE_TOKENIZERS } from './pre_tokenizers';
import { ScoredMerges, sentencePieceSplitter } from './sentence_piece';
import { type GgufVocabulary, readVocabulary } from './vocabulary';
import type { GgufMetadata } from './metadata';

/** The tokenizer that the metadata of a GGUF file describe. Throws EngineError bad_model or unsupported. */
export function ggufTokenizer(file: string, metadata: GgufMetadata): Tokenizer {
  const vocabulary = readVocabulary(file, metadata);
  const { model, tokens, addedTokens } = vocabulary;
  const controlIds = new Set(addedTokens.filter(isControl).map(({ id }) => id));
  switch (model) {
    case 'gpt2':
      return new WordTokenizer({
        tokens,
        addedTokens,
        ...byteLevel(file, metadata, vocabulary, controlIds),
        suffixIds: vocabulary.suffixIds,
        eosId: vocabulary.eosId,
      });
    case 'llama':
      return new WordTokenizer({
        tokens,
        addedTokens,
        ...sentencePiece(file, metadata, vocabulary, controlIds),
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
  const { pieces, allTexts } = vocabulary;
  const key = 'tokenizer.ggml.merges';
  const merges = readMerges(file, key, metadata.get(key), allTexts);
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
): WordParts {
  const { pieces, bytePieces, tokens, unknownId } = vocabulary;
  const scores = metadata.get('tokenizer.ggml.scores');
  if (!Array.isArray(scores) || scores.length !== tokens.length || !scores.every(Number.isFinite)) {
    throw badModel(file, `tokenizer.ggml.scores: expected ${tokens.length} numbers`);
  }
  const unknown = { byteFallback: true, unknownId, fuse: true };
  const alphabet = characterAlphabet(new Map([...pieces, ...bytePieces]), unknown);
  const merges = new ScoredMerges(pieces, tokens, scores as readonly number[]);
  const addPrefix = metadata.get('tokenizer.ggml.add_space_prefix') !== false;
  return {
    alphabet,
    splitter: { words: sentencePieceSplitter(pieces.keys(), addPrefix) },
    encodeWord: bpeEncoder(merges, alphabet, null, controlIds),
    prefixIds: vocabulary.prefixIds(true),
  };
}
