import assert from 'node:assert/strict';
import { suite, teardown, test } from 'mocha';
import * as vscode from 'vscode';
import { until } from '../until';
import { isAlive } from '../is_alive';
import { SUBTRACT, closeAll, open, testApi, trigger } from './support';

/** The pid of the engine process after a completion that needs it. */
async function engineAtWork(): Promise<number> {
  await open(`// ${performance.now()}\n${SUBTRACT}`);
  await trigger();
  const { pid } = (await testApi()).counters();
  assert.ok(pid !== null && isAlive(pid), `an engine process runs, pid ${pid}`);
  return pid;
}

suite('engine process', () => {
  teardown(closeAll);

  test('it ends when completions are disabled, and comes back with the next one', async () => {
    const pid = await engineAtWork();
    await vscode.commands.executeCommand('anllm.disable');
    await until('the process to end', () => !isAlive(pid));
    const { pid: none, engine } = (await testApi()).counters();
    assert.deepEqual({ none, engine }, { none: null, engine: 'stopped' });
    await vscode.commands.executeCommand('anllm.enable');
    assert.notEqual(await engineAtWork(), pid);
  });

  test('"Restart Engine" gives a new process and ends the old one', async () => {
    const pid = await engineAtWork();
    await vscode.commands.executeCommand('anllm.restartEngine');
    await until('the old process to end', () => !isAlive(pid));
    assert.notEqual(await engineAtWork(), pid);
  });

  test('"Unload Model" keeps the process; the next completion loads the model again', async () => {
    const pid = await engineAtWork();
    await vscode.commands.executeCommand('anllm.unloadModel');
    await until('idle', async () => (await testApi()).counters().engine === 'idle');
    assert.equal(await engineAtWork(), pid);
  });

  test('a killed process is replaced with the next completion', async () => {
    const pid = await engineAtWork();
    const api = await testApi();
    const { starts } = api.counters();
    process.kill(pid, 'SIGKILL');
    await until('the crash to be noticed', () => api.counters().engine === 'crashed');
    assert.notEqual(await engineAtWork(), pid);
    assert.equal(api.counters().starts, starts + 1);
  });
});
