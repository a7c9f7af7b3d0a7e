import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readBpeFile } from '../../../extension/engine/loading/bpe_file';

const LIMITS = { tokens: 1000, tokenLength: 16 };
const VOCAB = { a: 0, b: 1, ab: 2, '"\\/\n\u00e9': 5, 'Ġ😀': 7 };
const MERGES = ['a b'];

const read = (text: string) => readBpeFile(Buffer.from(text), LIMITS);
const file = (vocab: unknown = VOCAB, merges: unknown = MERGES, more: object = {}) => ({
  version: '1.0',
  added_tokens: [{ id: 9, content: '<x>"]}' }],
  model: { type: 'BPE', dropout: null, vocab, merges },
  ...more,
});

test('tables hold what the file says, however it is written', () => {
  for (const text of [
    JSON.stringify(file()),
    JSON.stringify(file(), null, 2),
    JSON.stringify(file(VOCAB, [['a', 'b']])),
    JSON.stringify(file()).replace('é', '\\u00E9').replace('"model"', '"m\\u006fdel"'),
  ]) {
    const found = read(text);
    assert.ok(found !== null, text);
    const { tokens, merges, rest } = found;
    for (const [token, id] of Object.entries(VOCAB)) {
      assert.equal(tokens.get(token), id);
      assert.equal(tokens.at(id), token);
    }
    assert.equal(tokens.length, 8);
    assert.equal(tokens.at(3), undefined);
    assert.equal(tokens.at(8), undefined);
    assert.equal(tokens.get('x'), undefined);
    assert.equal(tokens.get('a'.repeat(100_000)), undefined);
    const merge = merges.find(0, 1);
    assert.deepEqual([merges.rank(merge), merges.result(merge)], [0, 2]);
    assert.equal(merges.find(1, 0), -1);
    const parsed: unknown = JSON.parse(new TextDecoder().decode(rest));
    assert.deepEqual(parsed, file({}, []));
  }
});

test('what is wrong or unusual is left to the ordinary reader', () => {
  const good = JSON.stringify(file());
  const cases: Record<string, string> = {
    'not JSON': good.slice(0, -1),
    'more behind the end': `${good}{}`,
    'two tokens of one id': JSON.stringify(file({ a: 0, b: 0 }, [])),
    'one token twice': good.replace('"b":1', '"a":1'),
    'no number': JSON.stringify(file({ a: '0' }, [])),
    'a negative id': JSON.stringify(file({ a: -1 }, [])),
    'a large id': JSON.stringify(file({ a: 2 ** 22 }, [])),
    'a number that JSON does not have': good.replace('"b":1', '"b":01'),
    'a fraction': good.replace('"b":1', '"b":1.5'),
    'a long token': JSON.stringify(file({ ['x'.repeat(17)]: 0 }, [])),
    'a control character': good.replace('"b":1', '"b\u0001":1'),
    'half a character': good.replace('"b":1', '"\\ud83d":1'),
    'an unknown escape': good.replace('"b":1', '"\\x":1'),
    'a merge of three': JSON.stringify(file(VOCAB, ['a b ab'])),
    'a merge of one': JSON.stringify(file(VOCAB, ['ab'])),
    'a merge without result': JSON.stringify(file(VOCAB, ['b a'])),
    'a list as vocabulary': JSON.stringify(file([['a', 0]], [])),
    'no merges': JSON.stringify(file(VOCAB, null)),
    'merges first': JSON.stringify({ model: { merges: MERGES, vocab: VOCAB } }),
    'two models': good.replace('{', `{"model":{"vocab":{},"merges":[]},`),
    'too many tokens': JSON.stringify(
      file(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`t${i}`, i])), []),
    ),
  };
  for (const [name, text] of Object.entries(cases)) assert.equal(read(text), null, name);
  const broken = Buffer.from(good);
  broken[broken.indexOf('Ġ')] = 0xff;
  assert.equal(readBpeFile(broken, LIMITS), null, 'not UTF-8');
});

test('the tokenizer of the built-in model', () => {
  const bytes = readFileSync('extension/assets/sprout/tokenizer.json');
  const found = readBpeFile(bytes, { tokens: 1 << 20, tokenLength: 2048 });
  const { model } = JSON.parse(bytes.toString()) as {
    model: { vocab: Record<string, number>; merges: unknown[] };
  };
  assert.ok(found !== null);
  for (const [token, id] of Object.entries(model.vocab)) {
    assert.equal(found.tokens.get(token), id);
    assert.equal(found.tokens.at(id), token);
  }
});
