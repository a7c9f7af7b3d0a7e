/** What a model says, in a terminal: text, whatever is in it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../../../scripts/lib/process.mjs';

/** A link to elsewhere, a title, a colour. */
const HOSTILE = '\x1b]8;;https://evil.example\x07here\x1b]0;root\x07\x1b[31m';
const WRITTEN = String.raw`\x1b]8;;https://evil.example\x07here\x1b]0;root\x07\x1b[31m`;
const node = [process.execPath, '--import', 'tsx', join(root, 'extension/engine/cli.ts')];
/** The answer that the model is held to. */
const hostileAnswer = [...node, 'run', 'hi', '--context', '512', '--choice', HOSTILE];

const quoted = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

/** Runs a command in a terminal of its own. @returns all that it shows */
function inTerminal(words: readonly string[]): string {
  const args = ['-qec', quoted(words), '/dev/null'];
  const { stdout } = spawnSync('script', args, { cwd: root, encoding: 'utf8' });
  return stdout;
}

const hasTerminals =
  process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

describe('text of a model', () => {
  test('is obeyed by no terminal', { skip: !hasTerminals && 'needs script of util-linux' }, () => {
    const shown = inTerminal(hostileAnswer);
    assert.ok(shown.includes(WRITTEN), JSON.stringify(shown));
    assert.ok(!shown.includes('\x1b'), JSON.stringify(shown));
  });

  test('goes into a file as it is', () => {
    const [command = '', ...args] = hostileAnswer;
    const { stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
    assert.ok(stdout.includes(HOSTILE), JSON.stringify(stdout));
  });

  test('in an error is written out, into a file too', () => {
    const [command = '', ...args] = [...node, 'complete', '/no/\x1b[31mmodel'];
    const { stderr, status } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stderr, /\\x1b\[31mmodel/);
    assert.ok(!stderr.includes('\x1b'), JSON.stringify(stderr));
  });
});
