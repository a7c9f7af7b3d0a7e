import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { COMMAND_IDS } from '../../extension/host/command_ids';
import { parseSettings } from '../../extension/host/settings';

interface Property {
  readonly default: unknown;
  readonly scope?: string;
}

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly keybindings: readonly { readonly command: string; readonly key: string }[];
    readonly configuration: readonly { readonly properties: Readonly<Record<string, Property>> }[];
  };
}

const url = new URL('../../package.json', import.meta.url);
const { contributes } = JSON.parse(readFileSync(url, 'utf8')) as Manifest;
const properties = Object.assign(
  {},
  ...contributes.configuration.map((section) => section.properties),
) as Readonly<Record<string, Property>>;

describe('manifest', () => {
  it('contributes the commands that the extension has, each once', () => {
    const contributed = contributes.commands.map(({ command }) => command);
    assert.deepEqual(contributed.toSorted(), [...COMMAND_IDS].toSorted());
  });

  it('binds keys to commands of its own', () => {
    for (const { command } of contributes.keybindings) {
      assert(
        COMMAND_IDS.some((id) => id === command),
        command,
      );
    }
  });

  it('documents the defaults that are used', () => {
    const defaults = parseSettings((key) => properties[`anllm.${key}`]?.default, '/built/in');
    assert.deepEqual(
      defaults,
      parseSettings(() => undefined, '/built/in'),
      'a missing value counts as the default in package.json',
    );
    const read = new Set<string>();
    parseSettings((key) => read.add(key), '/built/in');
    const documented = Object.keys(properties).map((key) => key.replace(/^anllm\./, ''));
    assert.deepEqual([...read].toSorted(), documented.toSorted());
  });

  it('takes what names a path or a device from the machine, never from a workspace', () => {
    for (const [key, { scope }] of Object.entries(properties)) {
      if (key.startsWith('anllm.engine.')) assert.equal(scope, 'machine', key);
    }
  });
});

describe('settings', () => {
  const parse = (values: Readonly<Record<string, unknown>>) =>
    parseSettings((key) => values[key], '/built/in');

  it('takes a value of a wrong type as its default', () => {
    const settings = parse({
      'completion.enabled': 'yes',
      'completion.languages': ['x'],
      'completion.multiline': 1,
      'completion.maxTokens': '9',
      'completion.debounce': -1,
      'engine.model': 7,
      'engine.backend': 'gpu',
      'engine.threads': NaN,
    });
    assert.deepEqual(settings, parse({}));
  });

  it('keeps numbers within their limits', () => {
    const settings = parse({ 'completion.maxTokens': 1e9, 'engine.threads': -3 });
    assert.equal(settings.maxTokens, 2048);
    assert.equal(settings.engine.threads, 0);
  });

  it('reads a model folder without the blanks around it', () => {
    assert.equal(parse({ 'engine.model': ' /models/x ' }).engine.modelDir, '/models/x');
    assert.equal(parse({ 'engine.model': '  ' }).engine.modelDir, '/built/in');
  });
});
