import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compileSelected } from '../../../extension/engine/backend/select';
import type { Instruction } from '../../../extension/engine/core/program';
import { TestProgram } from '../../native/harness';

const options = {
  precision: 'fast',
  kvBlocks: 2,
  maxTokens: 4,
  maxLogitRows: 4,
  threads: 1,
} as const;

/** A program with a field that only the reference backend takes, by ignoring it. */
async function compile(name: 'auto' | 'cpu', fields: object) {
  const { program, weights } = build(fields);
  try {
    return await compileSelected(name, program, weights, () => options);
  } finally {
    weights.close();
  }
}

function build(fields: object) {
  const test = new TestProgram();
  const program = test.finish(test.linear(test.embed(32, 32), 32));
  const instructions = program.instructions.map((i): Instruction =>
    i.op === 'linear' ? { ...i, ...fields } : i,
  );
  return { program: { ...program, instructions }, weights: test.weights };
}

describe('auto', () => {
  test('takes the cpu backend where it can', async () => {
    const { backend, fallbackReason, executable } = await compile('auto', {});
    executable.dispose();
    assert.deepEqual([backend.name, fallbackReason], ['cpu', null]);
  });

  test('takes the reference backend for what the cpu backend lacks, and says why', async () => {
    const { backend, fallbackReason, executable } = await compile('auto', { unheard: 1 });
    executable.dispose();
    assert.equal(backend.name, 'reference');
    assert.match(fallbackReason ?? '', /\[linear\] unheard: the cpu backend does not know/);
  });

  test('on a Mac whose GPU cannot serve takes the cpu backend, and says why', async () => {
    const { program, weights } = build({});
    const chosen = await compileSelected('auto', program, weights, () => options, 'darwin');
    chosen.executable.dispose();
    weights.close();
    assert.equal(chosen.backend.name, 'cpu');
    assert.match(chosen.fallbackReason ?? '', /no Metal device/);
  });

  test('does not hide that a named backend lacks something', () =>
    assert.rejects(compile('cpu', { unheard: 1 }), { code: 'unsupported' }));
});
