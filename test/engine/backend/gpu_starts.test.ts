import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { GpuStarts } from '../../../extension/engine/backend/gpu_starts';

const MODULE = resolve(__dirname, '../../../extension/engine/backend/gpu_starts.ts');

/** A process that the GPU ends while it starts. */
function crash(folder: string, version = 'one'): void {
  const script = `
    const { GpuStarts } = require(${JSON.stringify(MODULE)});
    new GpuStarts(${JSON.stringify(folder)}, 'load', ${JSON.stringify(version)}).begin();
    process.abort();`;
  const { signal } = spawnSync(process.execPath, ['--import', 'tsx', '--eval', script]);
  assert.equal(signal, 'SIGABRT');
}

/** A process that goes in the middle of a start as processes do. */
function quit(folder: string): void {
  const script = `
    const { GpuStarts } = require(${JSON.stringify(MODULE)});
    new GpuStarts(${JSON.stringify(folder)}, 'load', 'one').begin();
    process.exit(0);`;
  spawnSync(process.execPath, ['--import', 'tsx', '--eval', script]);
}

describe('starts of the GPU', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anllm-gpu-starts-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const left = () => readdirSync(join(folder, 'gpu-starts', 'load'));
  const starts = (version = 'one') => new GpuStarts(folder, 'load', version);

  test('that end leave nothing, whether they come through or not', () => {
    for (const isThrough of [true, false, false, false]) starts().begin()(isThrough);
    assert.deepEqual(left(), []);
  });

  test('are given up after two processes that ended, until one comes through', () => {
    crash(folder);
    crash(folder);
    assert.throws(() => starts().begin(), { code: 'unavailable', message: /anllm doctor/ });
    starts().begin({ again: true })(false);
    assert.throws(() => starts().begin(), { code: 'unavailable' });
    starts().begin({ again: true })(true);
    starts().begin()(true);
    assert.deepEqual(left(), []);
  });

  test('are tried again after one, which is forgotten then', () => {
    crash(folder);
    starts().begin()(true);
    assert.deepEqual(left(), []);
  });

  test('of another version, and of processes that exit, do not count', () => {
    crash(folder, 'another');
    crash(folder, 'another');
    quit(folder);
    quit(folder);
    starts().begin()(true);
    assert.deepEqual(left(), []);
  });

  test('of another kind say nothing about it', () => {
    crash(folder);
    crash(folder);
    new GpuStarts(folder, 'self-test', 'one').begin()(true);
    assert.throws(() => starts().begin(), { code: 'unavailable' });
  });

  test('that still run do not count', () => {
    const ends = [starts().begin(), starts().begin(), starts().begin()];
    starts().begin()(true);
    for (const end of ends) end(true);
  });

  test('go on where nothing can be written', () => {
    new GpuStarts('/dev/null/none', 'load', 'one').begin()(true);
  });
});
