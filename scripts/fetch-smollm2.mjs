// @ts-check
/** npm run fetch:smollm2: gets the model of test/engine/loading/gguf/smollm2.test.ts. */
import path from 'node:path';
import { isMain, root, runMain } from './lib/process.mjs';
import { ensureSmolLm } from './lib/smollm.mjs';

async function main() {
  const file = await ensureSmolLm();
  console.log(`${file}\nnpx anllm run --model ${path.relative(root, file)} "..." chats with it`);
}

if (isMain(import.meta.filename)) await runMain(main);
