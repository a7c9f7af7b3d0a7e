/**
 * npm run fuzz [-- --cases 200000] [--seed 1] [--target gguf]: changed model files against the loader. Each must load or
 * end in one clear error; ends with code 1 at the first that crashes it or takes too long, whose seed it names.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runCase, targets } from '../test/engine/loading/fuzz/targets';

const DEFAULT_CASES = 200_000;
const REPORT_EVERY = 1_000;
/** A case has two seconds; a process that says nothing for so long hangs. */
const MAX_SILENCE_MS = 120_000;

interface Job {
  readonly cases: number;
  readonly seed: number;
  readonly target: string;
}

/** Cases take turns between the targets. */
function work({ cases, seed, target }: Job): void {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-fuzz-'));
  const chosen = targets().filter(({ name }) => name.includes(target));
  try {
    for (let i = 0; i < cases; i++) {
      const current = chosen[i % chosen.length];
      if (current === undefined) throw new Error(`--target ${target}: no such target`);
      const problem = runCase(current, folder, seed + i);
      if (problem !== null) {
        process.stderr.write(`${problem}\n`);
        process.exitCode = 1;
        return;
      }
      if ((i + 1) % REPORT_EVERY === 0) process.send?.(i + 1);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs `work` in a process of its own, so that a hang is seen from outside. */
function watch(job: Job): void {
  const started = performance.now();
  const child = fork(__filename, [JSON.stringify(job)]);
  let done = 0;
  const fail = (why: string) => {
    process.stderr.write(`\n${why}\n`);
    process.exitCode = 1;
    child.kill('SIGKILL');
  };
  const hung = () => fail(`a case after ${done} from seed ${job.seed} on does not end`);
  let timer = setTimeout(hung, MAX_SILENCE_MS);
  child.on('message', (count) => {
    done = Number(count);
    clearTimeout(timer);
    timer = setTimeout(hung, MAX_SILENCE_MS);
    if (done % 20_000 === 0) process.stderr.write(`${done} of ${job.cases}\n`);
  });
  child.on('exit', (code) => {
    clearTimeout(timer);
    if (code !== 0) process.exitCode = 1;
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    if (process.exitCode !== 1) console.log(`${job.cases} cases in ${seconds} s, none went wrong`);
  });
}

if (process.send === undefined) {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: String(DEFAULT_CASES) },
      seed: { type: 'string', default: '1' },
      target: { type: 'string', default: '' },
    },
  });
  watch({ cases: Number(values.cases), seed: Number(values.seed), target: values.target });
} else work(JSON.parse(process.argv[2] ?? '{}') as Job);
