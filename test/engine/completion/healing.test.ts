import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitForHealing } from '../../../extension/engine/completion/healing';
import { tokenizer } from './sprout';

const cases: readonly [prefix: string, healed: string][] = [
  ['const x = foo.ba', '.ba'],
  ['return val', ' val'],
  ['    return ', ' '],
  ['function f() {\n    ', '    '],
  ['function f() {\n', ''],
  ['foo(', '('],
  ['foo("a", ', ' '],
  ['x = 12', ''],
  ['x = 3.', '.'],
  ['a === ', ' '],
  ['a ==', ' =='],
  ['été', 'été'],
  ['// 判断', ' 判断'],
  ['', ''],
  ['x'.repeat(500), ''],
];

describe('token healing', () => {
  for (const [prefix, healed] of cases) {
    it(`backs up over ${JSON.stringify(healed)} in ${JSON.stringify(prefix.slice(-20))}`, () => {
      const split = splitForHealing(prefix);
      assert.equal(split.healed, healed);
      assert.equal(split.stable + split.healed, prefix);
    });
  }

  it('leaves a prompt whose tokens stay whatever is typed next', () => {
    const source =
      'export function add(a: number, b = 12): Foo[] {\n    return fooBar.baz(a, "b c");\n}\n';
    const all = tokenizer.encode(source);
    for (let at = 0; at <= source.length; at++) {
      const { stable } = splitForHealing(source.slice(0, at));
      const ids = tokenizer.encode(stable);
      assert.deepEqual(ids, all.slice(0, ids.length), JSON.stringify(stable.slice(-20)));
    }
  });
});
