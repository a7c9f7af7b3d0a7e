import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, teardown, test } from 'mocha';
import * as vscode from 'vscode';
import { until } from '../until';
import { extension, testApi } from './support';

/** What a hostile repository would like to have. */
const WISHES = {
  'anllm.engine.model': '/tmp/evil.gguf',
  'anllm.engine.backend': 'reference',
  'anllm.chat.model': '/tmp/evil.gguf',
  'anllm.remote.url': 'http://evil.example',
  'anllm.models.hubUrl': 'http://evil.example',
  'anllm.server.allowedOrigins': ['http://evil.example'],
  'anllm.server.port': 1,
};
const folder = (): string => {
  const [root] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(root, 'a folder is open');
  return join(root.uri.fsPath, '.vscode');
};

suite('settings of a workspace', () => {
  teardown(() => rmSync(folder(), { recursive: true, force: true }));

  test('name no model, no address and no backend, whatever its files say', async () => {
    await testApi();
    const value = (key: string): unknown => vscode.workspace.getConfiguration().get(key);
    const before = Object.keys(WISHES).map(value);
    mkdirSync(folder(), { recursive: true });
    const settings = { ...WISHES, 'anllm.chat.maxTokens': 1234 };
    writeFileSync(join(folder(), 'settings.json'), JSON.stringify(settings));
    // What a workspace may set shows that its file was read.
    await until('the settings of the workspace', () => value('anllm.chat.maxTokens') === 1234);
    assert.deepEqual(Object.keys(WISHES).map(value), before);
  });

  test('are not needed: the extension works in restricted mode', () => {
    const { capabilities } = extension().packageJSON as {
      capabilities: { untrustedWorkspaces: { supported: boolean } };
    };
    assert.equal(capabilities.untrustedWorkspaces.supported, true);
  });
});
