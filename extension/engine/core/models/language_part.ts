import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import type { Program } from '../program';

/** What a family reads and builds from. */
export interface LanguagePart {
  readonly modelType: string;
  readonly reader: ConfigReader;
  readonly tensors: TensorIndex;
  /** Gives the family's program the names that the checkpoint has. */
  rename(program: Program): Program;
}

/** Where image models keep the decoder: newer Hugging Face exports, and MLX or older ones. */
const ROOTS = ['model.language_model', 'language_model.model', 'model'] as const;
const HEADS = ['lm_head', 'language_model.lm_head', 'model.language_model.lm_head'] as const;

/**
 * The language model inside an image model (Gemma 3, Mistral 3, Qwen3.5): its config is `text_config`, its tensors have
 * a prefix. All else belongs to images and is left aside. Null when config.json describes a language model itself.
 */
export function languagePart(reader: ConfigReader, tensors: TensorIndex): LanguagePart | null {
  const text = reader.optionalObject('text_config', ['tie_word_embeddings']);
  if (text === null) return null;
  reader.ignoreRest();
  const root = ROOTS.find((r) => tensors.has(`${r}.embed_tokens.weight`)) ?? ROOTS[0];
  const head = HEADS.find((h) => tensors.has(`${h}.weight`)) ?? HEADS[0];
  const rename = (name: string) =>
    name.replace(/^model\./, `${root}.`).replace(/^lm_head\./, `${head}.`);
  tensors.ignore(new RegExp(`^(?!${escape(root)}\\.|${escape(head)}\\.)`));
  return {
    modelType: text.string('model_type'),
    reader: text,
    tensors: {
      has: (name) => tensors.has(rename(name)),
      shape: (name) => tensors.shape(rename(name)),
      ignore: (names) => tensors.ignore(names),
    },
    rename: (program) => ({
      ...program,
      weights: program.weights.map((weight) => ({ ...weight, name: rename(weight.name) })),
    }),
  };
}

function escape(path: string): string {
  return path.replaceAll('.', '\\.');
}
