import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AddedToken } from './added_tokens';
import { badModel, quote } from './bad_model';
import { isJsonObject, type JsonObject, readJsonObject } from './json_file';

const TOKENIZER_CONFIG_FILE = 'tokenizer_config.json';
/** Most of it lists added tokens, or is a chat template. */
const MAX_BYTES = 16 * 1024 * 1024;
/** As of tokenizer.json. */
const MAX_ADDED_ID = 1 << 22;
const TOKEN_KEYS = ['bos_token', 'eos_token', 'pad_token', 'unk_token'] as const;

export type NamedToken = (typeof TOKEN_KEYS)[number];

/** What tokenizer_config.json says about a tokenizer. */
export interface TokenizerConfig {
  readonly file: string;
  /** Text of the named tokens, such as `eos_token`. */
  readonly tokens: Readonly<Partial<Record<NamedToken, string>>>;
  /** Added tokens, of which tokenizer.json need not have all. */
  readonly addedTokens: readonly AddedToken[];
  /** Whether a sequence begins with `bos_token`; null = as tokenizer.json's post-processor says. */
  readonly addBosToken: boolean | null;
  /** A template, or named ones; unchecked. */
  readonly chatTemplate: unknown;
}

/** Reads tokenizer_config.json; a folder without one has no named tokens. Throws EngineError bad_model. */
export function readTokenizerConfig(folder: string, root: string): TokenizerConfig {
  const file = join(folder, TOKENIZER_CONFIG_FILE);
  const json: JsonObject = existsSync(file) ? readJsonObject(file, root, MAX_BYTES) : {};
  const tokens: Partial<Record<NamedToken, string>> = {};
  for (const key of TOKEN_KEYS) {
    const text = tokenText(file, key, json[key] ?? null);
    if (text !== null) tokens[key] = text;
  }
  const addBosToken = typeof json.add_bos_token === 'boolean' ? json.add_bos_token : null;
  const addedTokens = readAddedTokens(json.added_tokens_decoder);
  return { file, tokens, addedTokens, addBosToken, chatTemplate: json.chat_template };
}

/** `{"32000": {"content": "<|im_end|>", "special": true, …}}`; what is not of this form is none. */
function readAddedTokens(value: unknown): AddedToken[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, token]) => {
    const id = Number(key);
    const isId = Number.isInteger(id) && id >= 0 && id < MAX_ADDED_ID;
    if (!isId || !isJsonObject(token)) return [];
    const { content, special, lstrip, rstrip, single_word: singleWord } = token;
    if (typeof content !== 'string' || content === '') return [];
    return [
      {
        id,
        content,
        special: special === true,
        lstrip: lstrip === true,
        rstrip: rstrip === true,
        singleWord: singleWord === true,
      },
    ];
  });
}

/** A named token is written as text, or as an object with its flags. */
function tokenText(file: string, key: string, value: unknown): string | null {
  const text = isJsonObject(value) ? value.content : value;
  if (text === null || typeof text === 'string') return text;
  throw badModel(file, `${key}: got ${quote(value)}, expected a string`);
}
