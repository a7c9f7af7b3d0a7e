import { quote, unsupportedModel } from '../../loading/bad_model';
import type { ModelConfig } from '../../loading/config';
import type { TensorIndex } from '../../loading/weights';
import type { Program } from '../program';
import type { ModelFamily } from './family';
import { deepseekV2 } from './deepseek_v2';
import { gemma } from './gemma';
import { gemma2 } from './gemma2';
import { gemma3Text } from './gemma3_text';
import { glm4 } from './glm4';
import { gptOss } from './gpt_oss';
import { granite } from './granite';
import { languagePart } from './language_part';
import { llama } from './llama';
import { mistral } from './mistral';
import { olmo2 } from './olmo2';
import { phi3 } from './phi3';
import { qwen2 } from './qwen2';
import { qwen3 } from './qwen3';
import { qwen3Moe } from './qwen3_moe';
import { qwen35MoeText } from './qwen3_5_moe_text';
import { qwen35Text } from './qwen3_5_text';
import { qwen3Next } from './qwen3_next';
import { smollm3 } from './smollm3';
import { starcoder2 } from './starcoder2';

const FAMILIES: ReadonlyMap<string, ModelFamily> = new Map(
  [
    deepseekV2,
    gemma,
    gemma2,
    gemma3Text,
    glm4,
    gptOss,
    granite,
    llama,
    mistral,
    olmo2,
    phi3,
    qwen2,
    qwen3,
    qwen3Moe,
    qwen3Next,
    qwen35MoeText,
    qwen35Text,
    smollm3,
    starcoder2,
  ].map((family) => [family.modelType, family]),
);

/** The model_type names that this engine runs. */
export function supportedModelTypes(): string[] {
  return [...FAMILIES.keys()].sort();
}

/**
 * The canonical program of a model, or of the language part of an image model. Throws unsupported for a family or a key
 * that the engine does not know.
 */
export function buildProgram(config: ModelConfig, tensors: TensorIndex): Program {
  const { reader } = config;
  const part = languagePart(reader, tensors);
  const family = familyOf(part?.modelType ?? config.modelType, reader.file);
  const program =
    part === null
      ? family.build(reader, tensors)
      : part.rename(family.build(part.reader, part.tensors));
  reader.assertAllRead();
  return program;
}

function familyOf(modelType: string, file: string): ModelFamily {
  const family = FAMILIES.get(modelType);
  if (family !== undefined) return family;
  const supported = supportedModelTypes().join(', ');
  throw unsupportedModel(
    file,
    `model_type ${quote(modelType)} is not supported; supported: ${supported}`,
  );
}
