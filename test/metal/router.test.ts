/** Halves and experts: which ones are chosen changes only where two of them are as good. */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import type { Backend, Precision } from '../../extension/engine/backend/backend';
import { loadMetalBackend, loadNativeBackend } from '../../extension/engine/backend/native';
import { readGolden } from '../../extension/engine/cli/verify';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import type { ValueId } from '../../extension/engine/core/program';
import { openModel } from '../../extension/engine/loading/open_model';
import { buildSoftAddon } from './build.mjs';
import { skip } from './runner';

const FAMILIES = resolve(__dirname, '../fixtures/families');
const MIN_COSINE = 0.999;
/** Of the weights of an expert and of the one that is chosen in its place. */
const MAX_WEIGHT_DIFFERENCE = 0.005;

/** A model whose steps can be asked for any of its values, in place of hidden states. */
class Probe {
  readonly model;
  readonly program;
  readonly prompts;

  constructor(name: string) {
    this.model = openModel(join(FAMILIES, name));
    this.program = fuse(buildProgram(this.model.config(), this.model.weights));
    this.prompts = readGolden(join(FAMILIES, name), this.program.vocabSize);
  }

  /** Logits, and value `id` of all tokens. */
  async run(backend: Backend, precision: Precision, ids: readonly number[], id: ValueId) {
    const blocks = Math.ceil(ids.length / backend.kvBlockSize);
    const { hidden } = this.program;
    assert.ok(hidden !== undefined);
    const executable = await backend.compile(
      { ...this.program, hidden: { ...hidden, value: id } },
      this.model.weights,
      { precision, kvBlocks: blocks, maxTokens: ids.length, maxLogitRows: ids.length, threads: 1 },
    );
    const logits = await executable.step({
      tokens: Int32Array.from(ids),
      positions: Int32Array.from(ids.keys()),
      offsets: Int32Array.of(0, ids.length),
      blockTables: Int32Array.from({ length: blocks }, (_, i) => i),
      blocksPerSequence: blocks,
      logitRows: Int32Array.from(ids.keys()),
    });
    const value = executable.hidden?.() ?? assert.fail('no hidden states');
    executable.dispose();
    return { logits, value };
  }
}

function cosineOf(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, v, i) => sum + v * (y[i] as number), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

describe('experts in halves', { skip }, () => {
  before(async () => {
    process.env.ANLLM_PREBUILD = await buildSoftAddon();
  });

  for (const name of ['qwen3-moe', 'qwen3-moe-q4-g64', 'deepseek-v2-lite']) {
    test(`${name}: a row has other logits only where an expert changed places with its equal`, async () => {
      const probe = new Probe(name);
      for (const { ids, logits } of probe.prompts) {
        const changed = new Set<number>();
        const vocab = logits.length / ids.length;
        let fastLogits: Float32Array = new Float32Array();
        for (const op of probe.program.instructions) {
          if (op.op !== 'moe_route') continue;
          const { topK } = op.routing;
          const exact = await probe.run(loadNativeBackend(), 'exact', ids, op.out);
          const fast = await probe.run(loadMetalBackend(), 'fast', ids, op.out);
          fastLogits = fast.logits;
          const width = exact.value.length / ids.length;
          for (const row of ids.keys()) {
            const [a, b] = [exact, fast].map(({ value }) =>
              value.subarray(row * width, (row + 1) * width),
            ) as [Float32Array, Float32Array];
            for (let k = 0; k < topK; k++) {
              if (a[k] === b[k]) continue;
              const difference = Math.abs((a[topK + k] as number) - (b[topK + k] as number));
              const what = `row ${row}: expert ${a[k]} became ${b[k]}`;
              assert.ok(difference <= MAX_WEIGHT_DIFFERENCE, `${what}, ${difference} apart`);
              changed.add(row);
            }
          }
        }
        for (const row of ids.keys()) {
          if (changed.has(row)) continue;
          const [want, got] = [logits, fastLogits].map((all) =>
            all.subarray(row * vocab, (row + 1) * vocab),
          ) as [Float32Array, Float32Array];
          const cosine = cosineOf(want, got);
          assert.ok(cosine >= MIN_COSINE, `row ${row}: ${cosine}`);
        }
        assert.ok(changed.size <= 1, `${changed.size} rows have other experts`);
      }
      probe.model.close();
    });
  }
});
