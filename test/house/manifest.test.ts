import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { listFiles } from '../../scripts/lib/content-hash.mjs';
import { root } from '../../scripts/lib/process.mjs';

interface Setting {
  readonly default?: unknown;
  readonly scope?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly markdownDescription?: string;
}

interface Step {
  readonly id: string;
  readonly description: string;
  readonly media: { readonly svg: string; readonly altText: string };
  readonly completionEvents: readonly string[];
}

interface Manifest {
  readonly description: string;
  readonly icon: string;
  readonly engines: { readonly vscode: string };
  readonly activationEvents: readonly string[];
  readonly capabilities: {
    readonly untrustedWorkspaces: { readonly supported: boolean };
    readonly virtualWorkspaces: boolean;
  };
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly contributes: {
    readonly commands: readonly { command: string; title: string; category?: string }[];
    readonly menus?: Readonly<Record<string, readonly { command?: string }[]>>;
    readonly keybindings?: readonly { command: string }[];
    readonly languageModelTools: readonly {
      readonly name: string;
      readonly inputSchema: {
        readonly properties: Readonly<Record<string, { readonly description: string }>>;
      };
    }[];
    readonly configuration: readonly { readonly properties: Readonly<Record<string, Setting>> }[];
    readonly walkthroughs: readonly { readonly id: string; readonly steps: readonly Step[] }[];
  };
}

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const manifestText = read('package.json');
const texts = JSON.parse(read('package.nls.json')) as Readonly<Record<string, string>>;
/** As VS Code shows it in English. */
const manifest = JSON.parse(manifestText, (_, value: unknown) => localized(value)) as Manifest;
const { commands, configuration } = manifest.contributes;
const settings = configuration.flatMap(({ properties }) => Object.entries(properties));

/** A value of the manifest that is `%key%` stands for a text of package.nls.json. */
function localized(value: unknown): unknown {
  const key = typeof value === 'string' ? /^%(.+)%$/.exec(value)?.[1] : undefined;
  if (key === undefined) return value;
  return texts[key] ?? assert.fail(`package.nls.json has no "${key}"`);
}

test('every text that a user reads can be translated, and none is left over', () => {
  const isText = /"(title|description|markdownDescription|displayName|altText)": "(?!%)(.+)"/g;
  const fixed = [...manifestText.matchAll(isText)].map(([, , text]) => text);
  const forModels = manifest.contributes.languageModelTools.flatMap(({ inputSchema }) =>
    Object.values(inputSchema.properties).map(({ description }) => description),
  );
  // The name, what a package registry shows too, and what models read.
  assert.deepEqual(fixed, ['anllm', manifest.description, ...forModels]);
  const used = [...manifestText.matchAll(/"%(.+)%"/g)].map(([, key]) => key);
  assert.deepEqual(used.sort(), Object.keys(texts).sort());
});

test('every command has a title, under one category', () => {
  for (const { command, title, category } of commands) {
    assert.ok(title.length > 0 && category === 'anllm', command);
  }
});

test('menus and keys name commands that exist', () => {
  const known = new Set(commands.map(({ command }) => command));
  const { menus = {}, keybindings = [] } = manifest.contributes;
  for (const { command } of [...Object.values(menus).flat(), ...keybindings]) {
    const isOwn = command?.startsWith('anllm.') === true;
    assert.ok(!isOwn || known.has(command), `${command} is in no row of contributes.commands`);
  }
});

test('every setting has a default and says what it does', () => {
  for (const [name, setting] of settings) {
    assert.ok('default' in setting, `${name} has no default`);
    const text = setting.markdownDescription ?? setting.description ?? '';
    assert.ok(/\.$/.test(text), `${name} has no description that ends in a full stop`);
  }
});

test('a setting that names a path, a host or a key is not for a workspace to set', () => {
  for (const [name, { scope }] of settings) {
    if (!/(path|folder|model|host|url|port|endpoint|token|key)$/i.test(name)) continue;
    assert.match(scope ?? '', /^(machine|machine-overridable|application)$/, name);
  }
});

test('no setting holds a key or a token: they are in the system’s key store', () => {
  for (const [name] of settings) assert.doesNotMatch(name, /(key|token|secret|password)$/i);
});

/** How completions look and how long answers get: a workspace may have its own. */
const FOR_A_WORKSPACE = [
  'anllm.completion.enabled',
  'anllm.completion.languages',
  'anllm.completion.multiline',
  'anllm.completion.maxTokens',
  'anllm.completion.debounce',
  'anllm.chat.maxTokens',
  'anllm.chat.temperature',
];

test('a workspace, trusted or not, configures no engine, no model, no address', () => {
  const open = settings.filter(([, { scope }]) => scope === undefined || scope === 'resource');
  for (const [name, { type, enum: words }] of open) {
    assert.ok(FOR_A_WORKSPACE.includes(name), `${name} has no scope: is it for a workspace?`);
    assert.ok(type !== 'string' || words !== undefined, `${name} takes any text`);
  }
});

test('it works in restricted mode, and nothing in a workspace starts it', () => {
  assert.equal(manifest.capabilities.untrustedWorkspaces.supported, true);
  assert.equal(manifest.capabilities.virtualWorkspaces, true);
  assert.deepEqual(manifest.activationEvents, ['onStartupFinished']);
});

test('the steps of the walkthrough have pictures, and lead to commands that exist', () => {
  const known = new Set(commands.map(({ command }) => command));
  const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
  assert.ok(steps.length >= 4);
  for (const { id, description, media, completionEvents } of steps) {
    // Colours are the editor's own, in every theme; nothing is loaded.
    const svg = read(media.svg);
    assert.doesNotMatch(
      svg,
      /#[0-9a-f]{3,8}\b|https?:(?!\/\/www\.w3\.org\/2000\/svg)|<script/i,
      id,
    );
    assert.ok(media.altText.endsWith('.'), id);
    const links = [...description.matchAll(/\(command:([\w.]+)/g)].map(([, command]) => command);
    assert.ok(links.length > 0, id);
    const events = completionEvents.map((event) => event.split(':'));
    assert.ok(events.length > 0, id);
    for (const [kind] of events) assert.match(kind ?? '', /^on(Command|Context)$/, id);
    const ticks = events.filter(([kind]) => kind === 'onCommand').map(([, command]) => command);
    for (const command of [...links, ...ticks]) {
      const isOwn = command?.startsWith('anllm.') === true;
      assert.ok(!isOwn || known.has(command ?? ''), `${id}: ${command}`);
    }
  }
});

test('tools for other models read only: none takes code, a command or an address', () => {
  for (const { name, inputSchema } of manifest.contributes.languageModelTools) {
    assert.deepEqual(
      Object.keys(inputSchema.properties).filter((key) => !['text', 'path'].includes(key)),
      [],
      name,
    );
  }
});

test('text of a model is never trusted Markdown', () => {
  for (const file of listFiles('extension/host', /\.ts$/)) {
    assert.doesNotMatch(
      read(file),
      /(isTrusted|supportHtml|supportThemeIcons)\s*[:=]\s*(true|\{)/,
      file,
    );
  }
});

test('nothing runs before it is needed', () => {
  for (const event of manifest.activationEvents) assert.notEqual(event, '*');
});

test('the API that the code is typed against is the oldest that it runs on', () => {
  const version = (text: string | undefined) => text?.replace(/^[~^]/, '');
  assert.equal(
    version(manifest.devDependencies['@types/vscode']),
    version(manifest.engines.vscode),
  );
});

test('the icon is a PNG of 128 by 128, as the Marketplace asks for', () => {
  const png = readFileSync(path.join(root, manifest.icon));
  assert.equal(png.toString('latin1', 1, 4), 'PNG');
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [128, 128]);
});
