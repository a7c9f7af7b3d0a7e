import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/lib/process.mjs';

/** Control tokens after which an answer is over: end of text, turns, fill-in-the-middle, files. */
const ENDS = [16320, 16321, 16322, 16323, 16324, 16325, 16328];

/** Shows `text`, an expression or a statement of the template, three times, so that the model goes on with it once more. */
const repeated = (text: string): string =>
  `{%- for i in range(3) -%}<|im_start|>${text}<|im_end|>{%- endfor -%}<|im_start|>`;

/** Makes a chat model that says the last message again. */
export function writeEchoModel(folder: string): string {
  return writeModel(folder, 'Echo', repeated('{{ messages[-1].content }}'));
}

/**
 * Makes a chat model that calls a tool with `args`, and tells the user the first line of what it gave. Its context is as
 * long as VS Code's agent wants it; the template shows little of it.
 */
export function writeAgentModel(
  folder: string,
  name: string,
  args: Readonly<Record<string, string>>,
): string {
  const call = `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
  // A template that reads `tools` is given results as they are; VS Code's agent adds a message of its own behind them.
  const results = `{%- set known = tools -%}{%- set results = messages | selectattr('role', 'equalto', 'tool') | list -%}`;
  const found = `Found: {{ results[-1].content.split('\\n')[0] }}`;
  const text = `\n{% if results %}${found}{% else %}Looking: ${call}{% endif %}\n`;
  const path = writeModel(folder, 'Agent', results + repeated(text));
  const config = JSON.parse(readFileSync(join(path, 'config.json'), 'utf8')) as object;
  const longer = { ...config, max_position_embeddings: AGENT_CONTEXT };
  writeFileSync(join(path, 'config.json'), JSON.stringify(longer));
  return path;
}

/** Tokens. An agent's request is some 17,000. */
export const AGENT_CONTEXT = 65_536;

/** The embedded model, which repeats the patterns around it, with a chat template that is such a pattern. */
function writeModel(folder: string, title: string, template: string): string {
  cpSync(join(root, 'extension/assets/sprout'), folder, { recursive: true });
  writeFileSync(join(folder, 'chat_template.jinja'), template);
  const generation = { do_sample: false, eos_token_id: ENDS };
  writeFileSync(join(folder, 'generation_config.json'), JSON.stringify(generation));
  const manifest = JSON.parse(readFileSync(join(folder, 'anllm.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'anllm.json'), JSON.stringify({ ...manifest, title }));
  return folder;
}
