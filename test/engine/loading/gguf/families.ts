/** Checkpoints with goldens that a GGUF file can express. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFiles } from '../model_fixture';
import { convert } from './convert';
import type { GgufForm } from './convert_values';

/**
 * Of test/fixtures/families. What a file cannot express is left out: a window on some layers of Qwen2, Mistral's window, the
 * layers without rotation of SmolLM3.
 */
export const GGUF_FAMILIES = [
  'llama-biased-linear',
  'llama3-rope',
  'qwen2',
  'qwen3-yarn',
  'qwen3-moe',
  'gemma',
  'gemma2',
  'gemma3',
  'phi3',
  'starcoder2',
  'granite',
  'olmo2',
  'glm4',
  'gpt-oss',
  'deepseek-v2-lite',
  'deepseek-v2',
  'qwen3-next',
  'qwen3.5',
  'qwen3.5-moe',
] as const;

/** The same of ../shared/conformance, which lies beside some working copies. */
export const GGUF_SHARED = [
  'llama',
  'llama3-rope',
  'qwen2',
  'qwen3',
  'qwen3-untied',
  'qwen3-yarn',
  'qwen3-moe',
  'gemma',
  'gemma2',
  'gemma3',
  'phi3',
  'starcoder2',
  'granite',
  'olmo2',
  'glm4',
  'gpt-oss',
  'deepseek-v2-lite',
  'qwen3-next',
  'qwen3.5',
  'qwen3.5-moe',
] as const;

/** Writes the GGUF file and the goldens of a checkpoint to `folder`; returns it. */
export function convertedTo(folder: string, checkpoint: string, form?: GgufForm): string {
  writeFiles(folder, { 'model.gguf': convert(checkpoint, {}, form) });
  copyFileSync(join(checkpoint, 'golden.safetensors'), join(folder, 'golden.safetensors'));
  return folder;
}
