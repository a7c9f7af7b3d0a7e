import { createReferenceBackend } from '../../../../extension/engine/backend/reference';
import type { GraphBuilder } from '../../../../extension/engine/core/graph';
import type { ValueId } from '../../../../extension/engine/core/program';
import { EngineError } from '../../../../extension/engine/errors';
import type { StoredTensor, WeightStore } from '../../../../extension/engine/loading/weights';

/** Runs `out` of a graph on the reference backend: row t is token t of the sequence 0, 1, … Weights are given by name. */
export async function runGraph(
  g: GraphBuilder,
  out: ValueId,
  weights: Readonly<Record<string, readonly number[]>>,
  rows: number,
): Promise<number[][]> {
  const program = g.finish('test', 64, g.gatherRows(out));
  const cols = g.colsOf(out);
  const executable = await createReferenceBackend().compile(program, storeOf(weights), {
    precision: 'exact',
    kvBlocks: 1,
    maxTokens: rows,
    maxLogitRows: rows,
    threads: 0,
  });
  const every = Int32Array.from({ length: rows }, (_, t) => t);
  const logits = await executable.step({
    tokens: every,
    positions: every,
    offsets: Int32Array.of(0, rows),
    blockTables: Int32Array.of(0),
    blocksPerSequence: 1,
    logitRows: every,
    stateSlots: Int32Array.of(0),
  });
  return Array.from({ length: rows }, (_, t) => [...logits.subarray(t * cols, (t + 1) * cols)]);
}

function storeOf(weights: Readonly<Record<string, readonly number[]>>): WeightStore {
  const bytes = (name: string) => new Uint8Array(Float32Array.from(weights[name] ?? []).buffer);
  return {
    has: (name) => name in weights,
    weight(name, rows, cols) {
      const { byteLength } = bytes(name);
      if (byteLength !== 4 * rows * cols) {
        throw new EngineError(
          'bad_model',
          `${name}: ${byteLength / 4} values, expected ${rows * cols}`,
        );
      }
      const tensor: StoredTensor = {
        name,
        dtype: 'F32',
        shape: [rows, cols],
        file: '',
        offset: 0,
        byteLength,
      };
      return { kind: 'dense', tensor };
    },
    read: ({ name }) => bytes(name),
    assertAllUsed: () => undefined,
    close: () => undefined,
  };
}
