/**
 * npm run docs:performance: writes docs/performance.md. What Apple silicon should do is predicted from the dispatches and bytes
 * of the encoder's own commands. `node --import tsx scripts/performance-page.ts --measure-cpu` also measures what the CPU of
 * this machine does, `--measure-peer` what it does beside llama.cpp, with the built command line, so nothing else may run;
 * without them these parts of the page stay.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { loadNativeBackend } from '../extension/engine/backend/native';
import { ensureSmolLm } from './lib/smollm.mjs';
import {
  loadCounter,
  programOf,
  QWEN3_06B,
  QWEN3_30B_A3B,
  QWEN3_4B,
  QWEN3_8B,
  type StepCount,
} from '../test/metal/published';

const ROOT = resolve(__dirname, '..');
const PAGE = join(ROOT, 'docs/performance.md');
const CPU_TITLE = '## Measured on a CPU';
const PEER_TITLE = '## Beside llama.cpp';

const MODELS = {
  'Qwen3-0.6B': QWEN3_06B,
  'Qwen3-4B': QWEN3_4B,
  'Qwen3-8B': QWEN3_8B,
  'Qwen3-30B-A3B': QWEN3_30B_A3B,
} as const;

/** GB/s of memory, as Apple publishes them. Of chips with two sizes of GPU both. */
const CHIPS: Readonly<Record<string, number>> = {
  M1: 68,
  'M1 Pro': 200,
  'M1 Max': 400,
  'M1 Ultra': 800,
  M2: 100,
  'M2 Pro': 200,
  'M2 Max': 400,
  'M2 Ultra': 800,
  M3: 100,
  'M3 Pro': 150,
  'M3 Max, 30 cores': 300,
  'M3 Max, 40 cores': 400,
  'M3 Ultra': 819,
  M4: 120,
  'M4 Pro': 273,
  'M4 Max, 32 cores': 410,
  'M4 Max, 40 cores': 546,
};

/** What kernels that read memory in order may be expected to reach of it. */
const SHARE = 0.75;
/** From one dispatch to the next that waits for it; published measurements on Apple silicon lie around it. */
const DISPATCH_US = 2.4;
/** Tokens in the cache when the token is made. */
const POSITIONS = [0, 8000] as const;

function tokensPerSecond(count: StepCount, gigabytes: number): string {
  const reading = (count.weightBytes + count.cacheBytes) / (SHARE * gigabytes * 1e9);
  return (1 / (reading + count.dispatches * DISPATCH_US * 1e-6)).toFixed(0);
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [header, header.map(() => '---'), ...rows].map(line).join('\n');
}

const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2);

/** One run of `anllm bench` on the CPU. */
function measured(precision: 'fast' | 'exact'): readonly string[] {
  const args = [join(ROOT, 'dist/cli.js'), 'bench', '--backend', 'cpu', '--json'];
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    [...args, '--precision', precision],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`anllm bench: ${stderr}`);
  const report = JSON.parse(stdout) as Record<string, number | string>;
  return [
    instructionsOf(String(report.backend_description)),
    precision,
    ...['prefill_tok_s', 'decode_tok_s', 'streams_tok_s', 'ttft_ms', 'peak_rss_mb'].map((key) =>
      Math.round(Number(report[key])).toString(),
    ),
  ];
}

/** `avx2` of `CPU, avx2, 2 threads`. */
const instructionsOf = (description: string) => description.split(', ')[1] ?? '';

async function page(): Promise<string> {
  const counter = await loadCounter();
  const models = Object.entries(MODELS).map(([name, config]) => {
    const program = programOf(config);
    const counts = POSITIONS.map((position) => counter.countStep(program, 1, position));
    return { name, counts };
  });
  const columns = models.flatMap(({ name, counts }) =>
    counts.map((count, i) => ({ name, count, position: POSITIONS[i] ?? 0 })),
  );
  const title = ({ name, position }: (typeof columns)[number]) =>
    position === 0 ? name : `after ${position}`;
  return `# Performance

<!-- Written by npm run docs:performance; edit scripts/performance-page.ts instead. -->

## Predicted on Apple silicon

**These are predictions. Nothing was measured on Apple silicon.** Tokens a second of one answer, weights of 4 bits in groups of
64, with an empty cache and after ${POSITIONS[1]} tokens. The bytes and the dispatches are those of the commands that the Metal backend
encodes. The time of a token is bytes / (${SHARE} of the memory's published bandwidth) + dispatches × ${DISPATCH_US} µs; both numbers are assumptions:
the first is what the kernels aim at, the second what others have published for dispatches that wait for each other.
Memory is not looked at: a model that is larger than three quarters of it will not run on the GPU.

${table(
  ['chip', 'GB/s', ...columns.map(title)],
  Object.entries(CHIPS).map(([chip, bandwidth]) => [
    chip,
    String(bandwidth),
    ...columns.map(({ count }) => tokensPerSecond(count, bandwidth)),
  ]),
)}

What a token takes:

${table(
  ['model', 'cached tokens', 'dispatches', 'GB of weights', 'GB of keys and values'],
  columns.map(({ name, position, count }) => [
    name,
    String(position),
    String(count.dispatches),
    gigabytes(count.weightBytes),
    gigabytes(count.cacheBytes),
  ]),
)}

\`anllm bench --backend metal --model FOLDER\` measures it on a Mac; \`anllm doctor\` says whether the GPU computes right.

${process.argv.includes('--measure-cpu') ? measuredCpu() : kept(CPU_TITLE)}
${process.argv.includes('--measure-peer') ? await measuredPeer() : kept(PEER_TITLE)}`;
}

function measuredCpu(): string {
  const header = [
    'instructions',
    'precision',
    'prefill of 512, tokens/s',
    'decode, tokens/s',
    'decode of 8 at once, tokens/s',
    'time to first token, ms',
    'peak memory, MB',
  ];
  const now = [measured('fast'), measured('exact')];
  // Of machines with other instructions, as they were measured.
  const others = kept(CPU_TITLE)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter(([instructions]) => instructions !== now[0]?.[0]);
  return `${CPU_TITLE}

The built-in model (40M parameters, 4 bits) by \`anllm bench\`, two threads of a virtual AMD EPYC each:

${table(header, [...others, ...now])}
`;
}

async function measuredPeer(): Promise<string> {
  const { compare } = await import('./bench-peer.mjs');
  const rounds = 5;
  const { release, prefill, decode } = await compare(await ensureSmolLm(), {
    threads: '2',
    rounds,
  });
  const row = (name: string, { ours, theirs, ratio }: typeof prefill) => {
    const range = `${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)}`;
    const [a, b] = [ours.median.toFixed(0), theirs.median.toFixed(0)];
    return [name, a, b, `${ratio.median.toFixed(2)} (${range})`];
  };
  return `${PEER_TITLE}

SmolLM2-135M-Instruct, the same Q4_1 GGUF file, two threads, in turns on ${thisCpu()}: medians of ${rounds} rounds, and their least and
greatest ratio (\`npm run bench:peer\`). llama.cpp ${release} as node-llama-cpp has it built for this CPU; both are asked
from JavaScript. What that package does between two tokens is in its decode; llama.cpp by itself does not have it.

${table(
  ['tokens/s', 'anllm', 'llama.cpp', 'times'],
  [row('prefill of 512', prefill), row('decode behind 64', decode)],
)}
`;
}

const thisCpu = () => {
  const [cpu] = cpus();
  const instructions = instructionsOf(loadNativeBackend().description);
  return `${cpu?.model.trim() ?? 'an unknown CPU'} with ${instructions}, ${cpus().length} logical CPUs`;
};

/** A part of the page as it is. */
function kept(title: string): string {
  const text = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
  const at = text.indexOf(title);
  if (at < 0) return '';
  const end = text.indexOf('\n## ', at);
  return end < 0 ? text.slice(at) : text.slice(at, end + 1);
}

void page().then((text) => {
  writeFileSync(PAGE, text);
});
