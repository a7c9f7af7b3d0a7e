import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTwins, kernelFiles } from '../../scripts/check/twins.mjs';

test('a kernel with its twin and its test is complete', () => {
  const files = ['metal/rope.metal', 'native/cpu/rope.cpp', 'test/native/rope.test.ts'];
  assert.deepEqual(checkTwins(files), []);
});

test('a Metal kernel without a CPU twin or a test is named, with what it lacks', () => {
  assert.deepEqual(checkTwins(['metal/rope.metal']), [
    'metal/rope.metal has no native/cpu/rope.cpp',
  ]);
  assert.deepEqual(checkTwins(['metal/rope.metal', 'native/cpu/rope.cpp']), [
    'metal/rope.metal has no test/native/rope.test.ts',
    'native/cpu/rope.cpp has no test/native/rope.test.ts',
  ]);
});

test('the variants of a Metal kernel share the twin of their op', () => {
  const op = ['native/cpu/linear.cpp', 'test/native/linear.test.ts'];
  assert.deepEqual(checkTwins(['metal/linear.metal', 'metal/linear_matvec.metal', ...op]), []);
  assert.equal(checkTwins(['metal/line_matvec.metal', ...op]).length, 1);
});

test('a CPU op needs a test, and no Metal kernel', () => {
  assert.deepEqual(checkTwins(['native/cpu/rope.cpp', 'native/thread_pool.cpp']), [
    'native/cpu/rope.cpp has no test/native/rope.test.ts',
  ]);
});

test('every op of the project has its test, every kernel its twin', () => {
  assert.deepEqual(checkTwins(kernelFiles()), []);
});
