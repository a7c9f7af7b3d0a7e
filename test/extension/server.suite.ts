import assert from 'node:assert/strict';
import { suite, teardown, test } from 'mocha';
import * as vscode from 'vscode';
import { until } from '../until';
import { testApi } from './support';

/** The command itself ends only when its message is closed. */
async function startServer(): Promise<string> {
  const api = await testApi();
  void vscode.commands.executeCommand('anllm.startServer');
  return until('the server to listen', () => api.counters().serverUrl);
}

async function copied(command: string): Promise<string> {
  await vscode.commands.executeCommand(command);
  return vscode.env.clipboard.readText();
}

async function models(url: string, token: string): Promise<string[]> {
  const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200);
  const { data } = (await answer.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

suite('OpenAI server', () => {
  teardown(() => vscode.commands.executeCommand('anllm.stopServer'));

  test('it is off until it is started; endpoint and token can be copied; a stop ends it', async () => {
    const api = await testApi();
    assert.equal(api.counters().serverUrl, null);
    const url = await startServer();
    assert.equal(await copied('anllm.copyServerEndpoint'), url);
    const token = await copied('anllm.copyServerToken');
    assert.match(token, /^[\w-]{43}$/);
    assert.ok((await models(url, token)).includes('sprout'));
    const stranger = await fetch(`${url}/models`);
    assert.equal(stranger.status, 401);
    await vscode.commands.executeCommand('anllm.stopServer');
    assert.equal(api.counters().serverUrl, null);
    await assert.rejects(fetch(`${url}/models`));
  });

  test('it is back on its port after the engine was killed', async () => {
    const api = await testApi();
    const url = await startServer();
    const token = await copied('anllm.copyServerToken');
    const { pid } = api.counters();
    assert.ok(pid !== null);
    process.kill(pid, 'SIGKILL');
    await until('another process', () => {
      const { pid: now, serverUrl } = api.counters();
      return now !== pid && serverUrl !== null;
    });
    assert.equal(api.counters().serverUrl, url);
    assert.ok((await models(url, token)).includes('sprout'));
  });
});
