import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/process.mjs';

/** Shows the last message three times, so that the model goes on with it once more. */
const TEMPLATE = `{%- for i in range(3) -%}<|im_start|>{{ messages[-1].content }}<|im_end|>{%- endfor -%}<|im_start|>`;

/** Control tokens after which an answer is over: end of text, turns, fill-in-the-middle, files. */
const ENDS = [16320, 16321, 16322, 16323, 16324, 16325, 16328];

/**
 * Makes a chat model that says the last message again: the embedded model, which repeats the patterns around it, with
 * a chat template that is such a pattern. Everything but the words is as with any other model.
 */
export function writeEchoModel(folder: string): string {
  cpSync(join(root, 'extension/assets/sprout'), folder, { recursive: true });
  writeFileSync(join(folder, 'chat_template.jinja'), TEMPLATE);
  const generation = { do_sample: false, eos_token_id: ENDS };
  writeFileSync(join(folder, 'generation_config.json'), JSON.stringify(generation));
  const manifest = JSON.parse(readFileSync(join(folder, 'anllm.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'anllm.json'), JSON.stringify({ ...manifest, title: 'Echo' }));
  return folder;
}
