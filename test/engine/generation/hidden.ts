/** Hidden states of a checkpoint with goldens, judged by the logits that they lead to. */
import type { Backend, Precision } from '../../../extension/engine/backend/backend';
import { normalize } from '../../../extension/engine/backend/reference/norm';
import { dequantize } from '../../../extension/engine/backend/reference/weights';
import { blocksFor } from '../../../extension/engine/cache/blocks';
import { readGolden } from '../../../extension/engine/cli/verify';
import { fuse } from '../../../extension/engine/core/fuse';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import type { Program } from '../../../extension/engine/core/program';
import { loadFinalNorm } from '../../../extension/engine/generation/embedding';
import { openModel } from '../../../extension/engine/loading/open_model';
import type { WeightStore } from '../../../extension/engine/loading/weights';

/**
 * Largest difference of logits computed here from the hidden states to the golden ones, as a fraction of the largest;
 * steps of 5 tokens, of which no logits are asked for.
 */
export async function hiddenError(
  dir: string,
  backend: Backend,
  precision: Precision,
): Promise<number> {
  const model = openModel(dir);
  const program = buildProgram(model.config(), model.weights);
  const [golden] = readGolden(dir, program.vocabSize);
  if (golden === undefined) throw new Error(`${dir} has no goldens`);
  const blocks = blocksFor(golden.ids.length, backend.kvBlockSize);
  const executable = await backend.compile(fuse(program), model.weights, {
    precision,
    kvBlocks: blocks,
    maxTokens: 8,
    maxLogitRows: 1,
    threads: 2,
  });
  const states: Float32Array[] = [];
  for (let start = 0; start < golden.ids.length; start += 5) {
    const ids = golden.ids.slice(start, start + 5);
    await executable.step({
      tokens: Int32Array.from(ids),
      positions: Int32Array.from(ids, (_, i) => start + i),
      offsets: Int32Array.of(0, ids.length),
      blockTables: Int32Array.from({ length: blocks }, (_, i) => i),
      blocksPerSequence: blocks,
      logitRows: new Int32Array(),
      stateSlots: Int32Array.of(0),
    });
    states.push(executable.hidden?.() ?? new Float32Array());
  }
  executable.dispose();
  const got = logitsOf(program, model.weights, states);
  model.close();
  let difference = 0;
  let largest = 0;
  for (const [i, expected] of golden.logits.entries()) {
    const error = Math.abs((got[i] ?? NaN) - expected);
    difference = Number.isNaN(error) ? Infinity : Math.max(difference, error);
    largest = Math.max(largest, Math.abs(expected));
  }
  return difference / largest;
}

/** The end of the canonical program: norm, head, and what some families do to the logits. */
function logitsOf(
  program: Program,
  store: WeightStore,
  states: readonly Float32Array[],
): Float32Array {
  const norm = loadFinalNorm(program, store);
  const head = program.instructions.findLast((i) => i.op === 'linear');
  const scale = program.instructions.find((i) => i.op === 'scale' && i.out === program.logits);
  const weight = program.weights[head?.weights[0] ?? -1];
  if (norm === null || weight === undefined) throw new Error('no norm or no head');
  const { width } = norm;
  const matrix = dequantize(
    store.weight(weight.name, weight.rows, width, weight.part),
    width,
    store,
  );
  const rows = states.flatMap((data) => {
    normalize(data, width, norm.spec, norm.weight, norm.bias);
    return Array.from({ length: data.length / width }, (_, r) => data.subarray(r * width));
  });
  return Float32Array.from(
    rows.flatMap((row) =>
      Array.from({ length: weight.rows }, (_, token) => {
        let sum = 0;
        for (let i = 0; i < width; i++) sum += (row[i] ?? 0) * (matrix[token * width + i] ?? 0);
        if (scale?.op !== 'scale') return sum;
        const { factor, softcap } = scale;
        return softcap === null ? sum * factor : softcap * Math.tanh((sum * factor) / softcap);
      }),
    ),
  );
}
