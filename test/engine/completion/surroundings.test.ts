import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookAround } from '../../../extension/engine/completion/surroundings';
import { requestAt } from './marked';

/** Open brackets at the cursor, innermost last; those that the text below closes are in parentheses. */
function brackets(document: string, languageId = 'typescript'): string {
  const { pending } = lookAround(requestAt(document, { languageId }));
  return pending.map(({ closer, served }) => (served ? `(${closer})` : closer)).join(' ');
}

const cases: readonly [name: string, document: string, want: string, languageId?: string][] = [
  ['nothing open', 'f(a);\n▮', ''],
  ['open, closed below', 'f() {\n  ▮\n}\n', '(})'],
  ['open, not closed', 'f() {\n  ▮\n', '}'],
  ['closed right of the cursor', 'foo(bar(▮))', '()) ())'],
  ['one of two closed right of the cursor', 'foo(bar(▮)', ') ())'],
  ['closed in the line below', 'foo([\n▮\n]);\n', '()) (])'],
  ['the inner one is missing, by indentation', 'a() {\n  b() {\n    ▮\n}\n', '(}) }'],
  ['the outer one is missing, by indentation', 'a() {\n  b() {\n    ▮\n  }\n', '} (})'],
  ['of another kind', 'f() {\n  g(▮\n}\n', '(}) )'],
  ['in a string', 'a = "({[";▮', ''],
  ['in a comment', '// ({[\n▮', ''],
  ['in a comment over lines', '/* ({\n[ */ (▮', ')'],
  ['in a template over lines', 'a = `({\n[`; {▮', '}'],
  ['in a docstring', '"""\n({[\n"""\n[▮', ']', 'python'],
  ['behind an escaped quote', "a = '\\'('; (▮", ')'],
  ['an apostrophe in a comment', "// don't\n(▮", ')'],
];

describe('surroundings', () => {
  for (const [name, document, want, languageId] of cases) {
    it(`brackets: ${name}`, () => assert.equal(brackets(document, languageId), want));
  }

  it('a closer below without an opener above is spare', () => {
    const { spare } = lookAround(requestAt('if (a) ▮\n  b();\n}\n'));
    assert.deepEqual(spare, [{ closer: '}', indent: 0 }]);
  });

  it('the rest of the line only closes, or does not', () => {
    const closes = (document: string): boolean => lookAround(requestAt(document)).restCloses;
    for (const rest of ['', ')', ');', '"', '"})', '  ', ' }', '>', ',']) {
      assert(closes(`a▮${rest}\nb`), rest);
    }
    for (const rest of ['b', ' + 1', ') {', '(']) assert(!closes(`a▮${rest}\nb`), rest);
  });

  it('reads the lines around the cursor without blank ones', () => {
    const { above, below } = lookAround(requestAt('a\n\n  b\n▮\n\n  c\nd\n\ne\nf\n'));
    assert.deepEqual(above, ['a', '  b']);
    assert.deepEqual(
      below.map(({ text }) => text),
      ['c', 'd', 'e'],
    );
    assert.equal(below[0]?.indent, 2);
  });

  it('is in a string or a comment', () => {
    const kind = (document: string) => lookAround(requestAt(document)).inside?.kind;
    assert.equal(kind('a = "b▮"'), 'string');
    assert.equal(kind('// b▮'), 'comment');
    assert.equal(kind('a = "b" ▮'), undefined);
    assert.equal(kind('a = "b\n▮'), undefined);
  });

  it('of a long document looks at its end only, from a line at the margin', () => {
    const body = '  x();\n'.repeat(400);
    assert.equal(brackets(`f() {\n${body}}\ng() {\n  ▮`), '}');
  });
});

describe('strings and comments of a language', () => {
  const openAt = (languageId: string, before: string): string =>
    lookAround(requestAt(`${before}▮`, { languageId }))
      .pending.map(({ closer }) => closer)
      .join('');

  for (const [languageId, text, open] of [
    ['powershell', '<# if ( #>\nfoo(', ')'],
    ['clojure', "; it's (\n(def x '(", '))'],
    ['css', 'a { background: url(http://a.b/c.png); color: rgb(', '})'],
    ['kotlin', 'val s = """\n it\'s (\n"""\nfoo(', ')'],
    ['ocaml', '(* [ *) let f = g (', ')'],
    ['erlang', "% don't (\nf(", ')'],
    ['vb', "' don't (\nCall f(", ')'],
    ['terraform', '# (\n/* [ */ a {', '}'],
  ] as const) {
    it(languageId, () => assert.equal(openAt(languageId, text), open));
  }
});
