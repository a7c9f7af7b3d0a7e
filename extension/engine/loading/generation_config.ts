import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { badModel, quote } from './bad_model';
import { CONFIG_FILE, MAX_CONFIG_BYTES } from './config';
import { ConfigReader } from './config_reader';
import { endOfTurnIds } from './end_of_turn';
import { isJsonObject, type JsonObject, readJsonObject } from './json_file';
import { allowedRoot } from './model_file';
import type { Tokenizer } from './tokenizer';

const GENERATION_FILE = 'generation_config.json';

/** Sampling that a model's authors recommend; what they do not say is absent. */
export interface SamplingDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
}

export interface GenerationConfig {
  /**
   * Ids that end a sequence: what config.json, generation_config.json and the tokenizer say, together, and the tokens that are
   * known to end a turn: converted folders often come without generation_config.json.
   */
  readonly eosIds: readonly number[];
  readonly sampling: SamplingDefaults;
}

/** Reads how a model wants to be sampled and where it ends. Throws EngineError bad_model. */
export function readGenerationConfig(
  folder: string,
  tokenizer: Pick<Tokenizer, 'vocabSize' | 'eosId' | 'specialId'>,
): GenerationConfig {
  const root = allowedRoot(folder);
  const config = optionalJson(join(folder, CONFIG_FILE), root);
  const generation = optionalJson(join(folder, GENERATION_FILE), root);
  const eosIds = new Set([
    ...eosOf(join(folder, CONFIG_FILE), config, tokenizer.vocabSize),
    ...eosOf(join(folder, GENERATION_FILE), generation, tokenizer.vocabSize),
    ...(isJsonObject(config.text_config)
      ? eosOf(join(folder, CONFIG_FILE), config.text_config, tokenizer.vocabSize)
      : []),
    ...(tokenizer.eosId === null ? [] : [tokenizer.eosId]),
    ...endOfTurnIds(tokenizer),
  ]);
  const reader = new ConfigReader(join(folder, GENERATION_FILE), generation);
  return { eosIds: [...eosIds].sort((a, b) => a - b), sampling: samplingOf(reader) };
}

function optionalJson(file: string, root: string): JsonObject {
  return existsSync(file) ? readJsonObject(file, root, MAX_CONFIG_BYTES) : {};
}

/** `eos_token_id` is an id, a list of ids, or null. Models are known to give ids in one file and not in the other. */
function eosOf(file: string, json: JsonObject, vocabSize: number): number[] {
  const value = json.eos_token_id ?? null;
  if (value === null) return [];
  const ids: unknown[] = Array.isArray(value) ? (value as unknown[]) : [value];
  const areIds = ids.every(
    (id) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabSize,
  );
  if (areIds && ids.length > 0) return ids as number[];
  throw badModel(
    file,
    `eos_token_id: got ${quote(value)}, expected ids from 0 to ${vocabSize - 1}`,
  );
}

function samplingOf(config: ConfigReader): SamplingDefaults {
  const temperature = temperatureOf(config);
  const topK = config.optionalInt('top_k', { min: -1, max: 1 << 22 });
  const topP = config.optionalFloat('top_p', { min: 0, max: 1 });
  const minP = config.optionalFloat('min_p', { min: 0, max: 1 });
  const repetitionPenalty = config.optionalFloat('repetition_penalty', { min: 0.01, max: 100 });
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(topK === null ? {} : { topK: Math.max(topK, 0) }), // -1 is another way to say "all"
    ...(topP === null ? {} : { topP }),
    ...(minP === null ? {} : { minP }),
    ...(repetitionPenalty === null ? {} : { repetitionPenalty }),
  };
}

/** do_sample false is greedy, whatever the temperature; true without a temperature means 1. */
function temperatureOf(config: ConfigReader): number | null {
  const temperature = config.optionalFloat('temperature', { min: 0, max: 100 });
  if (!config.has('do_sample')) return temperature;
  return config.bool('do_sample') ? (temperature ?? 1) : 0;
}
