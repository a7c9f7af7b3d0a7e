/**
 * npm run bench:step [-- --model FOLDER --isa NAME --rows 1,2,4,8,16 --context 128 --rounds 200]: what one step of the native
 * backend takes when so many sequences decode, without scheduler and sampling. All numbers of rows take turns, so that
 * a busy machine slows all alike; times are medians. `cpu` is processor time of all threads together.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Executable, StepBatch } from '../extension/engine/backend/backend';
import { loadNativeBackend } from '../extension/engine/backend/native';
import { fuse } from '../extension/engine/core/fuse';
import { buildProgram } from '../extension/engine/core/models/registry';
import { openModel } from '../extension/engine/loading/open_model';
import { median } from '../extension/engine/statistics';
import { GREEDY_DRAW } from '../test/engine/generation/draw_tokens';

const SPROUT = join(resolve(__dirname, '..'), 'extension/assets/sprout');
const WARM_UP_ROUNDS = 10;
const MAX_ROWS = 64;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      model: { type: 'string', default: SPROUT },
      isa: { type: 'string', default: '' },
      rows: { type: 'string', default: '1,2,4,8,16' },
      context: { type: 'string', default: '128' },
      rounds: { type: 'string', default: '200' },
      threads: { type: 'string', default: '0' },
    },
  });
  const counts = values.rows.split(',').map(Number);
  const [context, rounds] = [Number(values.context), Number(values.rounds)];
  const model = openModel(values.model);
  const program = fuse(buildProgram(model.config(), model.weights));
  const backend = loadNativeBackend(values.isa === '' ? {} : { isa: values.isa });
  const blocks = Math.ceil((context + 1) / backend.kvBlockSize);
  const executable = await backend.compile(program, model.weights, {
    precision: 'fast',
    kvBlocks: blocks * MAX_ROWS,
    maxTokens: Math.max(context, MAX_ROWS),
    maxLogitRows: MAX_ROWS,
    stateSlots: MAX_ROWS,
    threads: Number(values.threads),
  });
  model.close();
  console.log(`${backend.description}, ${context} tokens of context`);
  for (let s = 0; s < Math.max(...counts); s++)
    await fill(executable, s, context, blocks, program.vocabSize);
  await measure(executable, counts, { context, blocks, rounds, vocabSize: program.vocabSize });
  executable.dispose();
}

interface Setting {
  readonly context: number;
  readonly blocks: number;
  readonly rounds: number;
  readonly vocabSize: number;
}

/** Milliseconds of each round. */
class Times {
  readonly wall: number[] = [];
  /** Of all threads. */
  readonly cpu: number[] = [];
}

async function measure(executable: Executable, counts: readonly number[], setting: Setting) {
  const { context, blocks, rounds, vocabSize } = setting;
  const loads = counts.map((rows) => ({
    rows,
    batch: decodeBatch(rows, context, blocks),
    times: new Times(),
  }));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const { batch, times } of loads) {
      const before = process.cpuUsage();
      const started = performance.now();
      const draws = Array.from(batch.logitRows, () => GREEDY_DRAW);
      await executable.stepDrawn?.(batch, draws, vocabSize);
      const ms = performance.now() - started;
      const { user, system } = process.cpuUsage(before);
      if (round < 0) continue;
      times.wall.push(ms);
      times.cpu.push((user + system) / 1000);
    }
  }
  const first = loads[0];
  console.log('rows  median ms   best ms    cpu ms     tok/s  of the first');
  for (const { rows, times } of loads) {
    const ms = median(times.wall);
    const gain = ((median(first?.times.wall ?? []) / (first?.rows ?? 1)) * rows) / ms;
    const cells = [ms, Math.min(...times.wall), median(times.cpu)].map((t) =>
      t.toFixed(3).padStart(9),
    );
    const speed = ((1000 * rows) / ms).toFixed(0).padStart(8);
    console.log(
      `${String(rows).padStart(4)}  ${cells.join(' ')}  ${speed}  ${gain.toFixed(2).padStart(11)} x`,
    );
  }
}

/** Sequence `s` gets `context` tokens, so that the steps that are timed have keys to attend to. */
async function fill(
  executable: Executable,
  s: number,
  context: number,
  blocks: number,
  vocabSize: number,
): Promise<void> {
  await executable.step({
    tokens: Int32Array.from({ length: context }, (_, i) => (i * 31 + s * 7 + 1) % vocabSize),
    positions: Int32Array.from({ length: context }, (_, i) => i),
    offsets: Int32Array.of(0, context),
    blockTables: Int32Array.from({ length: blocks }, (_, b) => s * blocks + b),
    blocksPerSequence: blocks,
    logitRows: Int32Array.of(context - 1),
    stateSlots: Int32Array.of(s),
  });
}

/** One token of each of the first `rows` sequences. */
function decodeBatch(rows: number, context: number, blocks: number): StepBatch {
  const each = <T>(value: (s: number) => T) => Array.from({ length: rows }, (_, s) => value(s));
  return {
    tokens: Int32Array.from(each((s) => s + 1)),
    positions: Int32Array.from(each(() => context)),
    offsets: Int32Array.from({ length: rows + 1 }, (_, s) => s),
    blockTables: Int32Array.from({ length: rows * blocks }, (_, b) => b),
    blocksPerSequence: blocks,
    logitRows: Int32Array.from(each((s) => s)),
    stateSlots: Int32Array.from(each((s) => s)),
  };
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
});
