import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { buildBundles } from '../../scripts/build/bundles.mjs';

/** V8 reads ten megabytes of code a second where it is slow: more than this is felt when a window opens. */
const MAX_START_BYTES = 64_000;
/** Likewise, when somebody opens the chat. */
const MAX_PAGE_BYTES = 48_000;

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'anllm-pieces-')));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Loads the host as VS Code does, with an API that answers everything, and prints the files of ours that were read. */
const LOAD = `
  const Module = require('node:module');
  const load = Module._load;
  const api = new Proxy(class {}, { get: (target, key) => target[key] ?? api, construct: () => api, apply: () => api });
  Module._load = (name, ...rest) => (name === 'vscode' ? api : load(name, ...rest));
  require('./host.js');
  console.log(JSON.stringify(Object.keys(require.cache)));`;

const text = (file: string): string => readFileSync(path.join(folder, file), 'utf8');

/** All files of the host, as paths below `folder`. */
const files = (): string[] => [
  'host.js',
  ...readdirSync(path.join(folder, 'host')).map((name) => `host/${name}`),
];

before(() => buildBundles({ minify: true, folder }));

describe('the host’s code', () => {
  test('is little at the start, in one file beside what esbuild needs', () => {
    const output = execFileSync(process.execPath, ['-e', LOAD], { cwd: folder, encoding: 'utf8' });
    const read = (JSON.parse(output) as string[]).map((file) => path.relative(folder, file));
    const bytes = read.map((file) => text(file).length);
    assert.ok(bytes.length <= 3, read.join(', '));
    const sum = bytes.reduce((total, each) => total + each, 0);
    assert.ok(sum <= MAX_START_BYTES, `${sum} bytes in ${read.join(', ')}`);
  });

  test('has every piece that it wants later, and loads it by require', () => {
    const all = files();
    assert.ok(
      all.some((file) => /^host\/chat-/.test(file)),
      'the chat is a piece of its own',
    );
    for (const file of all) {
      assert.doesNotMatch(text(file), /\bimport\s*\(/, file);
      for (const [, name = ''] of text(file).matchAll(/require\("(\.[^"]+)"\)/g)) {
        const piece = path.posix.join(path.posix.dirname(file), name);
        assert.ok(all.includes(piece), `${file} wants ${piece}`);
      }
    }
  });
});

test('the chat page paints with little code, and asks for Markdown later', () => {
  const page = text('webview/chat.js');
  assert.ok(page.length <= MAX_PAGE_BYTES, `${page.length} bytes`);
  assert.deepEqual(page.match(/\bimport\b[^;]{0,40}"\.[^"]+"/g), ['import("./markdown.js"']);
  assert.match(text('webview/markdown.js'), /export\s*\{[^}]*as MarkdownBlocks/);
});
