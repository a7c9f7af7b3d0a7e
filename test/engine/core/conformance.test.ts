import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { createReferenceBackend } from '../../../extension/engine/backend/reference';
import { agreementOf } from '../../../extension/engine/cli/verify';
import { fuse } from '../../../extension/engine/core/fuse';
import { supportedModelTypes } from '../../../extension/engine/core/models/registry';
import type { Program } from '../../../extension/engine/core/program';
import { readModelConfig } from '../../../extension/engine/loading/config';
import { FIXTURES } from '../loading/model_fixture';

/** Float64 sums against float32 ones of another implementation: seen 3e-7 to 2e-5. */
const MAX_RELATIVE_ERROR = 1e-4;
/** Larger checkpoints that lie beside some working copies. */
const SHARED = resolve(__dirname, '../../../../shared/conformance');

const canonical = (program: Program) => program;
const families = foldersOf(join(FIXTURES, 'families'));

describe('logits and greedy tokens of transformers, on the reference backend', () => {
  for (const folder of families) {
    test(`${folder.name}, canonical`, () => agrees(folder.path, canonical));
    test(`${folder.name}, fused`, () => agrees(folder.path, fuse));
  }
  for (const { name, path } of foldersOf(join(FIXTURES, 'conformance'))) {
    test(name, () => agrees(path, fuse));
  }
});

describe('the larger checkpoints of ../shared/conformance', () => {
  const skip = existsSync(SHARED) ? false : 'they are not there; the fixtures above cover the same';
  test('agree', { skip }, async () => {
    for (const { path } of foldersOf(SHARED)) await agrees(path, fuse);
  });
});

test('every family has a checkpoint among the fixtures', () => {
  const folders = [...families, ...foldersOf(join(FIXTURES, 'conformance'))];
  const covered = new Set(folders.map(({ path }) => readModelConfig(path).modelType));
  assert.deepEqual(
    supportedModelTypes().filter((type) => !covered.has(type)),
    [],
  );
});

async function agrees(dir: string, rewrite: (program: Program) => Program): Promise<void> {
  const agreement = await agreementOf(dir, createReferenceBackend(), 'exact', rewrite);
  assert.ok(agreement.relError <= MAX_RELATIVE_ERROR, `${dir}: ${agreement.relError}`);
  assert.ok(agreement.greedyEqual, `${dir}: greedy tokens differ`);
}

function foldersOf(root: string): { name: string; path: string }[] {
  if (!existsSync(root)) return [];
  return readdirSync(root).map((name) => ({ name, path: join(root, name) }));
}
