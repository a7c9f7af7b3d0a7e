import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalHub } from '../host/models/local_hub';

export const HUB_MODEL = 'org/Downloaded-Echo';
/** What a search answers of it. */
export const HUB_HIT = {
  id: HUB_MODEL,
  downloads: 1234,
  gated: false,
  tags: ['mlx', 'safetensors'],
  cardData: { license: 'mit' },
  config: { model_type: 'qwen3' },
  safetensors: { parameters: { BF16: 1_000_000, U32: 5_000_000 }, total: 6_000_000 },
};
const FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'model.safetensors',
];

/** The hub of the session: it has one model. */
export let hub: LocalHub;

/** @returns its address */
export async function startHub(model: string): Promise<string> {
  const files = FILES.map((name) => [name, readFileSync(join(model, name))] as const);
  hub = new LocalHub(HUB_MODEL, Object.fromEntries(files));
  return await hub.start();
}
