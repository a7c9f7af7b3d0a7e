import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { placeOf } from '../../../extension/engine/completion/place';
import { lookAround } from '../../../extension/engine/completion/surroundings';
import type { MultilineMode } from '../../../extension/protocol/completion';
import { requestAt } from './marked';

const cases: readonly [name: string, document: string, languageId: string, want: string][] = [
  ['the end of a statement', 'foo();▮\n', 'typescript', 'line, then block'],
  ['half a word', 'func▮\n', 'typescript', 'line, then block'],
  ['before other text', 'a = ▮ + b;\n', 'typescript', 'line, then nothing'],
  ['before closers only', 'foo(a▮);\n', 'typescript', 'line, then block'],
  ['a blank line', 'a();\n  ▮\n', 'typescript', 'statements'],
  ['an empty document', '▮', 'typescript', 'statements'],
  ['blanks before text', '  ▮foo();\n', 'typescript', 'line, then nothing'],
  ['behind a brace', 'if (a) {▮\n', 'typescript', 'body at 0'],
  ['behind a brace with blanks', '  if (a) {  ▮\n', 'typescript', 'body at 2'],
  ['in the pair that the editor closed', 'f() {▮}\n', 'typescript', 'body at 0'],
  ['behind an arrow', 'const f = () =>▮\n', 'typescript', 'body at 0'],
  ['behind a colon in Python', '    def f(self):▮\n', 'python', 'body at 4'],
  ['behind a colon in TypeScript', 'const a:▮\n', 'typescript', 'line, then block'],
  ['behind a slice in Python', 'x[1::▮\n', 'python', 'line, then block'],
  ['behind then', 'if true; then▮\n', 'shellscript', 'body at 0'],
  ['behind a block of Ruby', 'list.each do |x|▮\n', 'ruby', 'body at 0'],
  ['in a string', 'a = "hello {▮"\n', 'typescript', 'line, then nothing'],
  ['in a comment', '// if (a) {▮\n', 'typescript', 'line, then nothing'],
];

describe('place', () => {
  const show = (document: string, languageId: string, mode: MultilineMode): string => {
    const place = placeOf(lookAround(requestAt(document, { languageId })), mode);
    if (place.kind === 'line') return `line, then ${place.then}`;
    return place.kind === 'body' ? `body at ${place.indent}` : place.kind;
  };

  for (const [name, document, languageId, want] of cases) {
    it(`${name}: ${want}`, () => assert.equal(show(document, languageId, 'auto'), want));
  }

  it('is one line everywhere in mode never', () => {
    for (const [, document, languageId] of cases) {
      assert.equal(show(document, languageId, 'never'), 'line, then nothing');
    }
  });

  it('goes on after the line in mode always, but not before other text', () => {
    assert.equal(show('foo();▮\n', 'typescript', 'always'), 'line, then statements');
    assert.equal(show('a = ▮ + b;\n', 'typescript', 'always'), 'line, then nothing');
  });
});
