import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, test } from 'node:test';
import { alone } from '../../scripts/lib/alone.mjs';
import { root } from '../../scripts/lib/process.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'anllm-alone-'));
after(() => rmSync(folder, { recursive: true }));

const MODULE = pathToFileURL(path.join(root, 'scripts/lib/alone.mjs')).href;

test('processes work one after the other', async () => {
  const lock = path.join(folder, 'turns', 'lock');
  const log = path.join(folder, 'log');
  const script = `
    import { appendFileSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    import { alone } from ${JSON.stringify(MODULE)};
    await alone(${JSON.stringify(lock)}, async () => {
      appendFileSync(${JSON.stringify(log)}, 'begins ');
      await setTimeout(50);
      appendFileSync(${JSON.stringify(log)}, 'ends ');
    });`;
  const workers = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' }),
  );
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.on('close', resolve))));
  assert.equal(readFileSync(log, 'utf8'), 'begins ends '.repeat(3));
  assert.ok(!existsSync(lock));
});

test('the lock of a process that was killed is taken over', async () => {
  const lock = path.join(folder, 'left');
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  writeFileSync(lock, String(pid));
  assert.equal(await alone(lock, () => Promise.resolve('done')), 'done');
});

test('work that fails leaves the lock to the next one', async () => {
  const lock = path.join(folder, 'failed');
  await assert.rejects(
    alone(lock, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  assert.equal(await alone(lock, () => Promise.resolve('done')), 'done');
});

test('a place where no lock can lie is an error, and no wait', async () => {
  writeFileSync(path.join(folder, 'file'), '');
  await assert.rejects(
    alone(path.join(folder, 'file', 'lock'), () => Promise.resolve()),
    /ENOTDIR|EEXIST/,
  );
});
