import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fuse } from '../../../extension/engine/core/fuse';
import { GraphBuilder } from '../../../extension/engine/core/graph';
import { inputsOf, outputsOf } from '../../../extension/engine/core/instructions';
import { rmsNorm } from '../../../extension/engine/core/layers/norm';
import { buildProgram } from '../../../extension/engine/core/models/registry';
import type { Program } from '../../../extension/engine/core/program';
import { openCheckpoint } from '../../../extension/engine/loading/checkpoint';
import { readModelConfig } from '../../../extension/engine/loading/config';
import { FIXTURES } from '../loading/model_fixture';

/** Queries with a latent of their own take one dispatch more. */
const MOST = { dense: 6, experts: 8, 'deepseek-v2': 9 } as const;

describe('dispatches a layer', () => {
  for (const name of readdirSync(join(FIXTURES, 'families'))) {
    test(name, () => {
      const program = fuse(programOf(join(FIXTURES, 'families', name)));
      const hasExperts = program.instructions.some((i) => i.op === 'moe_route');
      const most = name === 'deepseek-v2' ? MOST[name] : MOST[hasExperts ? 'experts' : 'dense'];
      const layers = program.kvLayers.length + (program.stateLayers?.length ?? 0);
      const count = dispatchesOfLayers(program);
      assert.ok(count <= most * layers, `${count} dispatches in ${layers} layers`);
    });
  }
});

/** All but the embedding, the end from gather_rows on, and a norm there that no product follows. */
function dispatchesOfLayers({ instructions }: Program): number {
  const end = instructions.findIndex((i) => i.op === 'gather_rows');
  return end - 1 - (instructions[end - 1]?.op === 'norm' ? 1 : 0);
}

test('every value is written once, before it is read', () => {
  for (const name of readdirSync(join(FIXTURES, 'families'))) {
    const { instructions, values, logits } = fuse(programOf(join(FIXTURES, 'families', name)));
    const written = new Set<number>();
    for (const i of instructions) {
      for (const id of inputsOf(i)) assert.ok(written.has(id), `${name}: ${i.op} reads ${id}`);
      for (const id of outputsOf(i)) {
        assert.ok(!written.has(id), `${name}: ${id} is written twice`);
        written.add(id);
      }
    }
    assert.equal(written.size, values.length, name);
    assert.ok(written.has(logits), name);
  }
});

test('a value that something else reads too is kept', () => {
  const g = new GraphBuilder();
  const x = g.embed(g.matrix('embed', 8, 4));
  const normed = g.norm(x, rmsNorm(g, 'norm', 4, 1e-6));
  const y = g.linear(normed, g.matrix('w', 4, 4));
  const sum = g.add(g.add(x, y), normed);
  const program = fuse(g.finish('test', 16, g.linear(g.gatherRows(sum), g.matrix('head', 8, 4))));
  const norm = program.instructions.find((i) => i.op === 'norm');
  assert.ok(norm !== undefined);
});

test('a norm that gates, or norms parts of a row, is no prologue', () => {
  const g = new GraphBuilder();
  const x = g.embed(g.matrix('embed', 8, 4));
  const weight = rmsNorm(g, 'norm', 2, 1e-6);
  const gated = g.norm(x, weight, 2, { value: x, column: 0, activation: 'silu' });
  const y = g.linear(gated, g.matrix('w', 4, 4));
  const program = fuse(g.finish('test', 16, g.linear(g.gatherRows(y), g.matrix('head', 8, 4))));
  assert.deepEqual(
    program.instructions.map((i) => i.op),
    ['embed', 'norm', 'linear', 'gather_rows', 'linear'],
  );
});

function programOf(dir: string): Program {
  const store = openCheckpoint(dir);
  try {
    return buildProgram(readModelConfig(dir), store);
  } finally {
    store.close();
  }
}
