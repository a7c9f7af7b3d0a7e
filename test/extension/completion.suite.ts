import assert from 'node:assert/strict';
import { suite, teardown, test } from 'mocha';
import * as vscode from 'vscode';
import { until } from '../until';
import { SUBTRACT, closeAll, open, testApi, trigger } from './support';

const LANGUAGES = 'completion.languages';

const configuration = (): vscode.WorkspaceConfiguration =>
  vscode.workspace.getConfiguration('anllm');

suite('completion', () => {
  teardown(closeAll);

  test('the editor commits what the provider offered', async () => {
    const document = await open(SUBTRACT);
    const { outcome } = await trigger();
    assert.equal(outcome.kind, 'shown', JSON.stringify(outcome));
    const expected = SUBTRACT.replace('█', outcome.text);
    const { accepted } = (await testApi()).counters();
    await until('the accepted text', async () => {
      await vscode.commands.executeCommand('editor.action.inlineSuggest.commit');
      return document.getText() === expected;
    });
    await until('the count', async () => (await testApi()).counters().accepted === accepted + 1);
  });

  test('the second time, the same place is answered without the engine', async () => {
    await open(`// ${Date.now()}\n${SUBTRACT}`);
    await trigger();
    const api = await testApi();
    const before = api.counters();
    const { outcome } = await trigger();
    assert.equal(outcome.kind === 'shown' && outcome.from, 'cache');
    assert.equal(api.counters().requests, before.requests);
  });

  test('a language that is switched off gets nothing, another one does', async () => {
    const api = await testApi();
    await open(SUBTRACT, 'typescript');
    await vscode.commands.executeCommand('anllm.toggleLanguage');
    try {
      const before = api.counters();
      const off = await trigger();
      assert.deepEqual(off.outcome, { kind: 'nothing', reason: 'language_disabled' });
      assert.equal(api.counters().requests, before.requests);
      await open(SUBTRACT, 'javascript');
      assert.equal((await trigger()).outcome.kind, 'shown');
    } finally {
      await configuration().update(LANGUAGES, undefined, vscode.ConfigurationTarget.Global);
    }
  });

  test('snoozed: nothing; after the snooze ends, a completion', async () => {
    await open(SUBTRACT);
    await vscode.commands.executeCommand('anllm.snooze', 5);
    const snoozed = await trigger();
    assert.deepEqual(snoozed.outcome, { kind: 'nothing', reason: 'snoozed' });
    await vscode.commands.executeCommand('anllm.snooze', 0);
    await open(SUBTRACT); // the editor keeps an empty answer until the place changes
    assert.equal((await trigger()).outcome.kind, 'shown');
  });
});
