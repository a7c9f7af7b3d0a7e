// @ts-check
/**
 * npm run bench:peer: the engine beside llama.cpp on one GGUF file, on the CPU of this machine, in turns.
 * usage: bench-peer.mjs [--model FILE.gguf] [--threads 2] [--rounds 5] [--json]
 *
 * llama.cpp comes as node-llama-cpp has it built for this machine; its decode goes through that package's JavaScript, as
 * ours goes through ours.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, isMain, root, runMain } from './lib/process.mjs';
import { ensureSmolLm } from './lib/smollm.mjs';
import { npmInstall } from './vscode-lab/npm.mjs';

const VERSION = '3.22.1';
const folder = path.join(root, '.cache', `peer-${VERSION}`);
const peer = path.join(folder, 'node_modules', 'node-llama-cpp');
/** Counted runs of a process; each round has a process of either. */
const RUNS = '3';

/** @typedef {{ prefill_tok_s: number, decode_tok_s: number }} Speed */

/** Names of its packages of binaries. */
const BINARIES = new Map([
  ['linux-x64', 'linux-x64'],
  ['linux-arm64', 'linux-arm64'],
  ['darwin-arm64', 'mac-arm64-metal'],
]);

async function installPeer() {
  if (existsSync(peer)) return;
  const platform = `${process.platform}-${process.arch}`;
  const binary = BINARIES.get(platform);
  if (binary === undefined) throw new Failure(`node-llama-cpp: no build for ${platform} is known`);
  const names = ['node-llama-cpp', `@node-llama-cpp/${binary}`];
  // Its other binaries, for GPUs too, are optional packages of half a gigabyte.
  await npmInstall(folder, [...names.map((name) => `${name}@${VERSION}`), '--omit=optional']);
}

/** @param {readonly string[]} args @returns {any} what a script printed as JSON */
function ask(args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Failure(`${args.join(' ')}: exit code ${status}\n${stderr}`);
  return JSON.parse(stdout.slice(stdout.indexOf('{')));
}

/** @param {readonly number[]} values */
function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [low = NaN, middle = NaN, high = NaN] = [
    sorted[0],
    sorted[Math.floor(sorted.length / 2)],
    sorted.at(-1),
  ];
  return { median: middle, low, high };
}

/**
 * @param {string} model
 * @param {{ threads: string, rounds: number }} options
 */
export async function compare(model, { threads, rounds }) {
  await installPeer();
  const script = path.join(root, 'scripts/peer/llama.mjs');
  const bench = ['bench', '--backend', 'cpu', '--streams', '1', '--runs', RUNS, '--json'];
  const cli = path.join(root, 'dist/cli.js');
  /** @type {{ ours: Speed, theirs: Speed }[]} */
  const pairs = [];
  let release = '';
  for (let round = 0; round < rounds; round++) {
    /** @returns {Speed} */
    const ours = () => ask([cli, ...bench, '--threads', threads, '--model', model]);
    const theirs = () => ask([script, peer, model, threads, RUNS]);
    // Who is first changes, for the machine may get slower or faster.
    const first = round % 2 === 0 ? ours() : null;
    const other = theirs();
    release = other.release;
    pairs.push({ ours: first ?? ours(), theirs: other });
    process.stderr.write(`round ${round + 1} of ${rounds}\n`);
  }
  const of = (/** @type {keyof Speed} */ key) => ({
    ours: summary(pairs.map(({ ours }) => ours[key])),
    theirs: summary(pairs.map(({ theirs }) => theirs[key])),
    ratio: summary(pairs.map(({ ours, theirs }) => ours[key] / theirs[key])),
  });
  return {
    model,
    threads,
    rounds,
    release,
    prefill: of('prefill_tok_s'),
    decode: of('decode_tok_s'),
  };
}

/** @param {string[]} args */
async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: 'string' },
      threads: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
    },
  });
  const model = path.resolve(values.model ?? (await ensureSmolLm()));
  const report = await compare(model, { threads: values.threads, rounds: Number(values.rounds) });
  if (values.json) {
    console.log(JSON.stringify(report, null, 2));
    return;
  }
  console.log(`${path.basename(model)}, ${values.threads} threads, llama.cpp ${report.release}`);
  for (const key of /** @type {const} */ (['prefill', 'decode'])) {
    const { ours, theirs, ratio } = report[key];
    console.log(
      `${key.padEnd(8)} ${ours.median.toFixed(0)} against ${theirs.median.toFixed(0)} tokens/s: ` +
        `${ratio.median.toFixed(2)} times (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)} in ${values.rounds} rounds)`,
    );
  }
}

if (isMain(import.meta.filename)) await runMain(main);
