import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capture } from '../../scripts/lib/process.mjs';

const node = (script: string, options: Parameters<typeof capture>[2]) =>
  capture(process.execPath, ['-e', script], options);

test('what hangs is ended and named, with what it printed, though a process of its own goes on', async () => {
  const script = `
    console.log('begins');
    const sleep = ['-e', 'setTimeout(() => {}, 20_000)'];
    require('node:child_process').spawn(process.execPath, sleep, { stdio: 'inherit' });`;
  const start = performance.now();
  const { code, output } = await node(script, { timeoutMs: 2000 });
  assert.ok(performance.now() - start < 15_000);
  assert.equal(code, 1);
  assert.match(output, /^begins\n.*setTimeout.*: not done after 2 s\n$/s);
});

test('what is idle leaves the processor to others', async () => {
  const { code, output } = await node('console.log(os.getPriority())', { isIdle: true });
  assert.deepEqual({ code, output }, { code: 0, output: '19\n' });
});

test('a command that is not there is an error', async () => {
  await assert.rejects(capture('anllm-not-there', [], { timeoutMs: 60_000, isIdle: true }), {
    code: 'ENOENT',
  });
});
