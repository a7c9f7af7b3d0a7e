/** What leads out of the window. A prompt in a file of the workspace can have a model say anything: nothing carries it away. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { listFiles } from '../../scripts/lib/content-hash.mjs';
import { root } from '../../scripts/lib/process.mjs';

/** Each with the files that may. */
const WAYS: readonly (readonly [what: string, pattern: RegExp, files: readonly string[]])[] = [
  ['opens an address, after a question', /openExternal\(/, ['chat/view.ts']],
  [
    'asks the hub, for what the user searches and downloads',
    /(?<!typeof )\bfetch\b(?=\(|\)|,)/,
    ['models/download.ts', 'models/hub.ts', 'models/repository.ts', 'models/search.ts'],
  ],
  ['starts a program: the engine', /child_process/, ['engine/process.ts']],
  ['has a port, on 127.0.0.1', /node:(net|http|https|tls|dgram)/, ['openai/relay.ts']],
  ['types into a terminal', /sendText|createTerminal|sendSequence/, []],
  ['calls a tool', /invokeTool/, []],
  ['runs a text', /\beval\(|new Function\(/, []],
];

const files = listFiles('extension/host', /\.ts$/).map((file) => ({
  name: path.posix.relative('extension/host', file.replaceAll('\\', '/')),
  code: readFileSync(path.join(root, file), 'utf8')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/(?<!:)\/\/.*$/gm, ''),
}));

for (const [what, pattern, allowed] of WAYS) {
  test(`only known code ${what}`, () => {
    const found = files.filter(({ code }) => pattern.test(code)).map(({ name }) => name);
    assert.deepEqual(found.sort(), [...allowed].sort());
  });
}

test('the chat gives a model no tools', () => {
  for (const name of [
    'chat/controller.ts',
    'chat/ask_once.ts',
    'language_model/participant_answer.ts',
  ]) {
    const { code = '' } = files.find((file) => file.name === name) ?? {};
    assert.match(code, /tools: \[\]/, name);
    assert.equal(code.match(/\btools:/g)?.length, 1, name);
  }
});
