import { Tokenizer as HubTokenizer } from '@huggingface/tokenizers';
import { badModel, messageOf, quote, unsupportedModel } from './bad_model';
import { isJsonObject, type JsonObject } from './json_file';
import { regexRisk } from './regex_safety';
import type { TokenizerJson } from './tokenizer_json';

/** Normalizes a piece of text and cuts it into words, which BPE then encodes one by one. */
export interface TextSplitter {
  /** `section`: index of the piece between added tokens; some tokenizers put a space before the first. */
  words(text: string, section: number): string[];
  /** Added tokens that a sequence begins with, such as the beginning-of-sequence token. */
  readonly prefix: readonly string[];
  /** Those that it ends with. */
  readonly suffix: readonly string[];
  /** Words become bytes (GPT-2's alphabet) before BPE. */
  readonly byteLevel: boolean;
  /** The words are the text, cut, in its normal form at most: nothing is added or left out. */
  readonly keepsText: boolean;
}

/** The split that a ByteLevel pre-tokenizer with `use_regex` stands for: GPT-2's pattern. */
const GPT2_SPLIT: JsonObject = {
  type: 'Split',
  pattern: {
    Regex: "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  },
  behavior: 'Isolated',
  invert: false,
};

/**
 * Builds the steps before BPE with the Hub's tokenizer library. Its own BPE is left out: it looks pairs up by JSON text,
 * which costs 8 ms for a small file where a table of integers takes less than one.
 */
export function textSplitter(
  json: Pick<TokenizerJson, 'file' | 'normalizer' | 'preTokenizer' | 'postProcessor'>,
): TextSplitter {
  checkPatterns(json.file, 'normalizer', json.normalizer);
  checkPatterns(json.file, 'pre_tokenizer', json.preTokenizer);
  const { steps, byteLevel } = withoutByteLevel(json.file, json.preTokenizer);
  let hub: HubTokenizer;
  try {
    hub = new HubTokenizer(
      {
        model: { type: 'BPE', vocab: {}, merges: [] },
        added_tokens: [],
        normalizer: json.normalizer,
        pre_tokenizer: steps.length === 0 ? null : { type: 'Sequence', pretokenizers: steps },
        post_processor: json.postProcessor,
        decoder: null,
      },
      {},
    );
  } catch (error) {
    throw badModel(json.file, messageOf(error), error);
  }
  const { normalizer, pre_tokenizer: preTokenizer } = hub;
  return {
    words: (text, section) => {
      const normalized = normalizer === null ? text : normalizer.normalize(text);
      if (preTokenizer === null) return normalized === '' ? [] : [normalized];
      return preTokenizer.pre_tokenize(normalized, { section_index: section });
    },
    ...sequenceEnds(hub),
    byteLevel,
    keepsText: byteLevel && isNormalForm(json.normalizer) && steps.every(onlyCuts),
  };
}

function isNormalForm(normalizer: JsonObject | null): boolean {
  return normalizer === null || normalizer.type === 'NFC';
}

function onlyCuts({ type, behavior }: JsonObject): boolean {
  return type === 'Digits' || (type === 'Split' && behavior === 'Isolated');
}

/** Bytes are not written out as characters here, but only when a word misses the cache. */
function withoutByteLevel(
  file: string,
  preTokenizer: JsonObject | null,
): { steps: JsonObject[]; byteLevel: boolean } {
  const nested = preTokenizer?.type === 'Sequence' ? preTokenizer.pretokenizers : preTokenizer;
  const steps = (Array.isArray(nested) ? (nested as unknown[]) : [nested]).filter(isJsonObject);
  const at = steps.findIndex((step) => step.type === 'ByteLevel');
  const step = steps[at];
  if (step === undefined) return { steps, byteLevel: false };
  if (at !== steps.length - 1)
    throw unsupportedModel(file, 'pre_tokenizer: ByteLevel must be the last step');
  if (step.add_prefix_space === true) {
    throw unsupportedModel(
      file,
      'pre_tokenizer: ByteLevel with add_prefix_space true not supported',
    );
  }
  const before = steps.slice(0, -1);
  return { steps: step.use_regex === false ? before : [...before, GPT2_SPLIT], byteLevel: true };
}

/** What the post-processor puts before a text, and after one. */
function sequenceEnds(hub: HubTokenizer): { prefix: string[]; suffix: string[] } {
  const mark = '\u0000';
  const tokens = hub.post_processor?.post_process([mark], null, true).tokens ?? [mark];
  const at = tokens.indexOf(mark);
  return { prefix: tokens.slice(0, at), suffix: tokens.slice(at + 1) };
}

/** Refuses patterns that may hang, and splits that the library would do differently from the original. */
function checkPatterns(file: string, path: string, value: unknown): void {
  if (Array.isArray(value)) value.forEach((item, i) => checkPatterns(file, `${path}[${i}]`, item));
  if (!isJsonObject(value)) return;
  const { behavior, pattern } = value;
  const { Regex: regex, String: literal } = isJsonObject(pattern) ? pattern : {};
  if (pattern !== undefined && typeof regex !== 'string' && typeof literal !== 'string') {
    const problem = `pattern ${quote(pattern)}: expected {"Regex": "…"} or {"String": "…"}`;
    throw badModel(file, `${path}: ${problem}`); // the library would go on without it
  }
  const risk = typeof regex === 'string' ? regexRisk(regex) : null;
  if (risk !== null)
    throw unsupportedModel(file, `${path}: pattern ${quote(regex)} refused: ${risk}`);
  if (
    value.type === 'Split' &&
    typeof regex === 'string' &&
    behavior !== 'Isolated' &&
    behavior !== 'Removed'
  ) {
    throw unsupportedModel(
      file,
      `${path}: Split behavior ${quote(behavior)}: expected "Isolated" or "Removed"`,
    );
  }
  for (const [key, child] of Object.entries(value)) checkPatterns(file, `${path}.${key}`, child);
}
