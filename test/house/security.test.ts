import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib/process.mjs';

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

test('every test that docs/security.md names is there', () => {
  const promises = read('docs/security.md')
    .split(/^- (?=\*\*W\d)/m)
    .slice(1);
  assert.equal(promises.length, 18);
  for (const promise of promises) {
    const files = promise.split(/^ {2}- (?=\[)/m).slice(1);
    assert.ok(files.length > 0, promise);
    for (const entry of files) {
      const [, file = ''] = /\]\(\.\.\/(\S+)\)/.exec(entry) ?? [];
      const code = read(file);
      const names = [...entry.replaceAll(/\s+/g, ' ').matchAll(/“(.+?)”/g)].map(([, name]) => name);
      assert.ok(names.length > 0, entry);
      for (const name of names) assert.ok(code.includes(`'${name}'`), `${file} has no “${name}”`);
    }
  }
});
