import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterTyping, typingBetween, type Offer } from '../../../extension/host/completion/offer';
import { snapshotAt } from './documents';

/** A suggestion at `from`, and the document later; what is left of the suggestion, or null. */
interface Case {
  readonly name: string;
  readonly from: string;
  readonly offer: string | Offer;
  readonly to: string;
  readonly left: string | Offer | null;
}

const cases: readonly Case[] = [
  { name: 'nothing typed', from: 'a▮', offer: 'bc', to: 'a▮', left: 'bc' },
  { name: 'typed into it', from: 'a▮\n', offer: 'bcd', to: 'abc▮\n', left: 'd' },
  { name: 'typed all of it', from: 'a▮', offer: 'bc', to: 'abc▮', left: null },
  { name: 'typed something else', from: 'a▮', offer: 'bc', to: 'ax▮', left: null },
  { name: 'typed beyond it', from: 'a▮', offer: 'bc', to: 'abcd▮', left: null },
  { name: 'deleted before it', from: 'ab▮', offer: 'c', to: 'a▮', left: null },
  { name: 'changed the text above', from: 'x\na▮', offer: 'bc', to: 'y\nab▮', left: null },
  { name: 'changed the text below', from: 'a▮\nx', offer: 'bc', to: 'ab▮\ny', left: null },
  { name: 'deleted a line below', from: 'a▮\nx\ny', offer: 'bc', to: 'a▮\ny', left: null },
  {
    name: 'went to the next line of it',
    from: 'if (a) {▮\n',
    offer: '\n  b();\n}',
    to: 'if (a) {\n  ▮\n',
    left: 'b();\n}',
  },
  {
    name: 'typed half of an emoji sequence',
    from: '▮',
    offer: '👩‍💻!',
    to: '👩▮',
    left: '\u200d💻!',
  },
  {
    name: 'the editor closes a bracket that the suggestion closes too',
    from: 'foo▮\n',
    offer: '(a, b);',
    to: 'foo(▮)\n',
    left: { text: 'a, b);', replaceAfter: 1 },
  },
  {
    name: 'the editor closes a bracket that the suggestion does not close',
    from: 'foo▮\n',
    offer: '(a, b',
    to: 'foo(▮)\n',
    left: null,
  },
  {
    name: 'bracket, then quote',
    from: 'foo▮\n',
    offer: '("a")',
    to: 'foo("▮")\n',
    left: { text: 'a")', replaceAfter: 2 },
  },
  {
    name: 'typed over the quote that the editor had put',
    from: 'foo("▮")\n',
    offer: { text: 'a")', replaceAfter: 2 },
    to: 'foo("a"▮)\n',
    left: { text: ')', replaceAfter: 1 },
  },
  {
    name: 'typed over a bracket that the suggestion leaves alone',
    from: 'foo(▮)\n',
    offer: 'a)',
    to: 'foo(a)▮\n',
    left: null,
  },
  {
    name: 'a block in the pair that the editor closed',
    from: 'f()▮\n',
    offer: ' {\n  x;\n}',
    to: 'f() {▮}\n',
    left: { text: '\n  x;\n}', replaceAfter: 1 },
  },
  { name: 'text came behind the cursor', from: 'a▮\n', offer: 'bc', to: 'ab▮xyz\n', left: null },
];

describe('typing through a suggestion', () => {
  for (const { name, from, offer, to, left } of cases) {
    it(name, () => {
      const typing = typingBetween(snapshotAt(from), snapshotAt(to));
      const full = typeof offer === 'string' ? { text: offer, replaceAfter: 0 } : offer;
      const want = typeof left === 'string' ? { text: left, replaceAfter: 0 } : left;
      assert.deepEqual(typing && afterTyping(full, typing), want);
    });
  }

  it('does not cross documents', () => {
    assert.equal(typingBetween(snapshotAt('a▮', 'file:///a'), snapshotAt('a▮', 'file:///b')), null);
  });

  it('always leads to the document that accepting at once leads to', () => {
    const from = snapshotAt('const x = ▮)\n');
    const offer: Offer = { text: 'foo("a", [1])', replaceAfter: 1 };
    const want = from.prefix + offer.text + from.suffix.slice(offer.replaceAfter);
    for (let typed = 0; typed < offer.text.length; typed++) {
      const to = { ...from, prefix: from.prefix + offer.text.slice(0, typed) };
      const typing = typingBetween(from, to);
      const left = typing && afterTyping(offer, typing);
      assert(left, `after ${typed} characters`);
      assert.equal(to.prefix + left.text + to.suffix.slice(left.replaceAfter), want);
    }
  });
});
