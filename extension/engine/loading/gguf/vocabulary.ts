import type { AddedToken } from '../added_tokens';
import type { TokenTexts } from '../alphabet';
import { badModel, quote, unsupportedModel } from '../bad_model';
import { ConfigReader } from '../config_reader';
import { END_OF_TURN } from '../end_of_turn';
import { FIM_TOKENS, STOP_TOKENS } from '../fim_families';
import { type GgufMetadata, TOKENS_KEY } from './metadata';
import { TextList } from './text_list';

/** The tokens of a GGUF file. */
export interface GgufVocabulary {
  /** 'gpt2': byte-level BPE; 'llama': SentencePiece. */
  readonly model: 'gpt2' | 'llama';
  /** All of them, by id. */
  readonly texts: TextList;
  /** By id; undefined for a token that is not used. */
  readonly tokens: TokenTexts;
  /** True for a token that text becomes. */
  readonly isPiece: (id: number) => boolean;
  /** True for one of SentencePiece's tokens for single bytes. */
  readonly isByte: (id: number) => boolean;
  readonly addedTokens: readonly AddedToken[];
  readonly eosId: number | null;
  readonly unknownId: number | null;
  /** The beginning-of-sequence token if the file asks for it, or does not say and `fallback` is true. */
  prefixIds(fallback: boolean): readonly number[];
  /** The end-of-sequence token if the file asks for it after each text. */
  readonly suffixIds: readonly number[];
}

/** `tokenizer.ggml.token_type`. */
const TYPE = { normal: 1, unknown: 2, control: 3, user: 4, unused: 5, byte: 6 } as const;
/** Tokens at either end of a vocabulary that may be control tokens. */
const [FIRST, LAST] = [64, 1_024];
const KNOWN_CONTROLS: ReadonlySet<string> = new Set([
  ...END_OF_TURN,
  ...FIM_TOKENS,
  ...STOP_TOKENS,
]);
/** 2,048 characters of three bytes. */
const MAX_TOKEN_BYTES = 3 * 2_048;

/** Tokens that are control tokens by their use, whatever their type says. */
const CONTROL_KEYS = [
  'bos_token_id',
  'eos_token_id',
  'eot_token_id',
  'eom_token_id',
  'padding_token_id',
  'fim_pre_token_id',
  'fim_suf_token_id',
  'fim_mid_token_id',
  'fim_pad_token_id',
  'fim_rep_token_id',
  'fim_sep_token_id',
  'prefix_token_id',
  'suffix_token_id',
  'middle_token_id',
] as const;
export type ControlKey = (typeof CONTROL_KEYS)[number];

/** Converters write -1, its 32 bits or the number of tokens where there is no such token. */
const ANY_ID = { min: -1, max: 2 ** 32 - 1 };

/** Ids of the named tokens; undefined where the file names none. */
export type ControlIds = ReadonlyMap<ControlKey, number>;

export function readControlIds(file: string, metadata: GgufMetadata): ControlIds {
  const count = tokenTexts(file, metadata).length;
  const reader = new ConfigReader(file, Object.fromEntries(metadata));
  const ids = new Map<ControlKey, number>();
  for (const key of CONTROL_KEYS) {
    const id = reader.optionalInt(`tokenizer.ggml.${key}`, ANY_ID);
    if (id !== null && id >= 0 && id < count) ids.set(key, id);
  }
  return ids;
}

/** Throws EngineError bad_model, or unsupported for another kind of tokenizer. */
export function readVocabulary(file: string, metadata: GgufMetadata): GgufVocabulary {
  const model = metadata.get('tokenizer.ggml.model');
  if (model !== 'gpt2' && model !== 'llama') {
    const expected = 'expected "gpt2" (byte-level BPE) or "llama" (SentencePiece)';
    throw unsupportedModel(file, `tokenizer.ggml.model ${quote(model)} not supported: ${expected}`);
  }
  const texts = tokenTexts(file, metadata);
  const types = tokenTypes(file, metadata, texts.length);
  const controlIds = readControlIds(file, metadata);
  const isControl = new Set([...controlIds.values(), ...knownControls(texts)]);
  const eosId = controlIds.get('eos_token_id') ?? null;
  return {
    model,
    texts,
    tokens: {
      length: texts.length,
      at: (id) => (types[id] === TYPE.unused ? undefined : texts.at(id)),
    },
    isPiece: (id) => types[id] === TYPE.normal && !isControl.has(id),
    isByte: (id) => types[id] === TYPE.byte && !isControl.has(id),
    addedTokens: types.flatMap((type, id) => {
      const special = type === TYPE.control || isControl.has(id);
      const content = special || type === TYPE.user ? (texts.at(id) ?? '') : '';
      return content === '' ? [] : [addedToken(id, content, special)];
    }),
    eosId,
    unknownId: unknownId(file, metadata, types),
    prefixIds: (fallback) => {
      const bos = controlIds.get('bos_token_id');
      const asked = metadata.get('tokenizer.ggml.add_bos_token') ?? fallback;
      return asked === true && bos !== undefined ? [bos] : [];
    },
    suffixIds:
      metadata.get('tokenizer.ggml.add_eos_token') === true && eosId !== null ? [eosId] : [],
  };
}

/** Files of old converters have control tokens, which stand first or last, among the ordinary ones. */
function knownControls(texts: TextList): number[] {
  const { length } = texts;
  const ids = Array.from({ length }, (_, id) => id);
  const edges = [...ids.slice(0, FIRST), ...ids.slice(Math.max(FIRST, length - LAST))];
  return edges.filter((id) => KNOWN_CONTROLS.has(texts.at(id) ?? ''));
}

function tokenTexts(file: string, metadata: GgufMetadata): TextList {
  const texts = metadata.get(TOKENS_KEY);
  if (!(texts instanceof TextList) || texts.length === 0) {
    throw badModel(file, `${TOKENS_KEY}: expected a list of strings`);
  }
  const long = texts.ends.findIndex((end, i) => end - texts.start(i) > MAX_TOKEN_BYTES);
  if (long === -1) return texts;
  const bytes = (texts.ends[long] ?? 0) - texts.start(long);
  throw badModel(
    file,
    `${TOKENS_KEY}[${long}]: got ${bytes} bytes, expected at most ${MAX_TOKEN_BYTES}`,
  );
}

function tokenTypes(file: string, metadata: GgufMetadata, count: number): readonly number[] {
  const types = metadata.get('tokenizer.ggml.token_type') ?? Array<number>(count).fill(TYPE.normal);
  if (Array.isArray(types) && types.length === count && types.every(Number.isInteger)) {
    return types as readonly number[];
  }
  throw badModel(file, `tokenizer.ggml.token_type: expected ${count} integers`);
}

function unknownId(file: string, metadata: GgufMetadata, types: readonly number[]): number | null {
  const reader = new ConfigReader(file, Object.fromEntries(metadata));
  const range = { min: 0, max: types.length - 1 };
  const declared = reader.optionalInt('tokenizer.ggml.unknown_token_id', range);
  if (declared !== null) return declared;
  const found = types.indexOf(TYPE.unknown);
  return found === -1 ? null : found;
}

function addedToken(id: number, content: string, special: boolean): AddedToken {
  return { id, content, special, lstrip: false, rstrip: false, singleWord: false };
}
