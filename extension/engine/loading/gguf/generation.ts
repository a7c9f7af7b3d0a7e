import { ConfigReader } from '../config_reader';
import { endOfTurnIds } from '../end_of_turn';
import type { GenerationConfig, SamplingDefaults } from '../generation_config';
import type { FimTemplate } from '../manifest';
import type { Tokenizer } from '../tokenizer';
import { type GgufMetadata, TOKENS_KEY } from './metadata';
import { TextList } from './text_list';
import { readControlIds } from './vocabulary';

/** Where a sequence ends, and how the authors recommend to sample. */
export function ggufGeneration(
  file: string,
  metadata: GgufMetadata,
  tokenizer: Tokenizer,
): GenerationConfig {
  const ids = readControlIds(file, metadata);
  const named = [ids.get('eos_token_id'), ids.get('eot_token_id'), ids.get('eom_token_id')];
  const listed = listedIds(file, metadata, tokenizer.vocabSize);
  const eosIds = new Set([
    ...named.filter((id) => id !== undefined),
    ...listed,
    ...endOfTurnIds(tokenizer),
  ]);
  return { eosIds: [...eosIds].sort((a, b) => a - b), sampling: sampling(file, metadata) };
}

/** Ollama's list of ids that end a sequence. */
function listedIds(file: string, metadata: GgufMetadata, vocabSize: number): readonly number[] {
  const reader = new ConfigReader(file, Object.fromEntries(metadata));
  const range = { min: 0, max: vocabSize - 1 };
  return reader.optionalInts('tokenizer.ggml.eos_token_ids', range) ?? [];
}

function sampling(file: string, metadata: GgufMetadata): SamplingDefaults {
  const reader = new ConfigReader(file, Object.fromEntries(metadata));
  const float = (key: string, max: number) =>
    reader.optionalFloat(`general.sampling.${key}`, { min: 0, max });
  const [temperature, topP, minP] = [float('temp', 100), float('top_p', 1), float('min_p', 1)];
  const penalty = float('penalty_repeat', 100);
  const topK = reader.optionalInt('general.sampling.top_k', { min: -1, max: 1 << 22 });
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(topK === null ? {} : { topK: Math.max(topK, 0) }),
    ...(topP === null ? {} : { topP }),
    ...(minP === null ? {} : { minP }),
    ...(penalty === null || penalty === 0 ? {} : { repetitionPenalty: penalty }),
  };
}

/** A fill-in-the-middle prompt of the tokens that the file names for it, in the order of most models. */
export function ggufFim(file: string, metadata: GgufMetadata): FimTemplate | null {
  const ids = readControlIds(file, metadata);
  const texts = metadata.get(TOKENS_KEY);
  const text = (id: number | undefined) =>
    id !== undefined && texts instanceof TextList ? (texts.at(id) ?? null) : null;
  const prefix = text(ids.get('fim_pre_token_id') ?? ids.get('prefix_token_id'));
  const suffix = text(ids.get('fim_suf_token_id') ?? ids.get('suffix_token_id'));
  const middle = text(ids.get('fim_mid_token_id') ?? ids.get('middle_token_id'));
  if (prefix === null || suffix === null || middle === null) return null;
  const separator = text(ids.get('fim_sep_token_id'));
  const repository = text(ids.get('fim_rep_token_id'));
  return {
    file,
    template: `${prefix}{prefix}${suffix}{suffix}${middle}`,
    fileHeader: separator === null ? null : `${separator}{path}\n`,
    repoHeader: repository === null ? null : `${repository}{repo}\n`,
  };
}
