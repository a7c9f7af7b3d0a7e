import assert from 'node:assert/strict';
import { suite, test } from 'mocha';
import * as vscode from 'vscode';
import { extension, testApi } from './support';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly configuration: readonly {
      readonly properties: Readonly<Record<string, { readonly default: unknown }>>;
    }[];
  };
}

const manifest = (): Manifest => extension().packageJSON as Manifest;

suite('manifest', () => {
  test('every contributed command is registered', async () => {
    await testApi();
    const registered = new Set(await vscode.commands.getCommands(true));
    const missing = manifest().contributes.commands.filter(
      ({ command }) => !registered.has(command),
    );
    assert.deepEqual(missing, []);
  });

  test('every setting has its default', () => {
    const configuration = vscode.workspace.getConfiguration();
    for (const { properties } of manifest().contributes.configuration) {
      for (const [key, property] of Object.entries(properties)) {
        assert.deepEqual(configuration.inspect(key)?.defaultValue, property.default, key);
      }
    }
  });

  test('no engine process runs before the first completion is wanted', async () => {
    const { pid, starts } = (await testApi()).counters();
    assert.deepEqual({ pid, starts }, { pid: null, starts: 0 });
  });
});
