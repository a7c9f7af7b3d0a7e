// @ts-check
/**
 * What llama.cpp does with a GGUF file on the CPU, through node-llama-cpp: prefill of 512 tokens, and greedy decode of 128 tokens
 * behind 64, the medians of some runs. Prints `{ prefill_tok_s, decode_tok_s }`.
 * usage: node llama.mjs FOLDER_OF_NODE_LLAMA_CPP FILE.gguf THREADS RUNS
 */
const [folder = '', modelPath = '', threadsText = '', runsText = ''] = process.argv.slice(2);
const threads = Number(threadsText);
const DECODED = 128;
const CONTEXT = 1024;

const { getLlama, LlamaLogLevel } = await import(`${folder}/dist/index.js`);
const llama = await getLlama({
  gpu: false,
  build: 'never',
  maxThreads: threads,
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: CONTEXT, batchSize: 512, threads });
const sequence = context.getSequence();
const lines = Array.from(
  { length: 200 },
  (_, i) =>
    `export function item${i}(list: readonly number[]): number {\n  return list[${i}];\n}\n`,
);
const text = model.tokenize(lines.join('\n'));

/** @param {number} count of tokens */
async function prefill(count) {
  await sequence.clearHistory();
  const started = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(text.slice(0, count));
  return (count / (performance.now() - started)) * 1000;
}

async function decode() {
  await prefill(64);
  const options = { temperature: 0, yieldEogToken: true };
  const tokens = sequence.evaluate(text.slice(64, 65), options);
  await tokens.next();
  const started = performance.now();
  for (let count = 0; count < DECODED; count++) await tokens.next();
  const tokensPerSecond = (DECODED / (performance.now() - started)) * 1000;
  await tokens.return();
  return tokensPerSecond;
}

/** @param {readonly number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const runs = { prefill: /** @type {number[]} */ ([]), decode: /** @type {number[]} */ ([]) };
for (let run = -1; run < Number(runsText); run++) {
  const sample = { prefill: await prefill(512), decode: await decode() };
  if (run < 0) continue; // warm-up
  runs.prefill.push(sample.prefill);
  runs.decode.push(sample.decode);
}
console.log(
  JSON.stringify({
    prefill_tok_s: median(runs.prefill),
    decode_tok_s: median(runs.decode),
    system: llama.systemInfo,
    release: llama.llamaCppRelease.release,
  }),
);
process.exit(0);
