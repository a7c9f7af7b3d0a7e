import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { assertFails, temporaryFolder, writeFiles } from './model_fixture';

const MODEL = { type: 'BPE', vocab: { a: 0, b: 1, ab: 2 }, merges: [['a', 'b']] };

const load = (changes: object, model: object = {}) =>
  loadTokenizer(
    writeFiles(temporaryFolder(), {
      'tokenizer.json': { added_tokens: [], model: { ...MODEL, ...model }, ...changes },
    }),
  );

const split = (pattern: string, behavior = 'Isolated') => ({
  pre_tokenizer: { type: 'Split', pattern: { Regex: pattern }, behavior, invert: false },
});

test('the least that is a tokenizer', () => {
  assert.deepEqual(load({}).encode('abba'), [2, 1, 0]);
  assert.deepEqual(load({}, { type: undefined, merges: ['a b'] }).encode('ab'), [2]);
});

test('vocabularies and merges that contradict themselves', () => {
  const cases: [object, string][] = [
    [{ vocab: { a: -1 } }, 'token "a": bad id -1'],
    [{ vocab: { a: 2 ** 31 } }, 'token "a": bad id 2147483648'],
    [{ vocab: { a: 1, b: 1 } }, 'id 1 is both "a" and "b"'],
    [{ vocab: { ['x'.repeat(1_000_000)]: 0 } }, 'got 1000000 characters'],
    [{ vocab: ['a'] }, 'model.vocab: got an array'],
    [{ merges: ['a b', 'a b c'] }, 'model.merges[1]: "a b c": expected two tokens'],
    [
      { merges: [['b', 'a']] },
      'model.merges[0]: ["b","a"]: its parts and its result must be in the vocabulary',
    ],
    [{ merges: [['a', 7]] }, 'model.merges[0]'],
    [{ merges: {} }, 'model.merges: got an object'],
  ];
  for (const [model, problem] of cases) assertFails(() => load({}, model), 'bad_model', problem);
});

test('added tokens', () => {
  const added = (token: object) => () => load({ added_tokens: [token] });
  assertFails(added({ id: 3, content: '' }), 'bad_model', 'added_tokens[0]: empty content');
  assertFails(added({ id: 1, content: 'c' }), 'bad_model', 'id 1 is both "b" and "c"');
  assertFails(added({ id: 1.5, content: 'c' }), 'bad_model', 'bad id 1.5');
  const overlapping = load({
    added_tokens: [
      { id: 3, content: '<x' },
      { id: 4, content: '<x>', lstrip: true, rstrip: true },
    ],
  });
  assert.deepEqual(overlapping.encodeTemplate('a  <x>  b<x'), [0, 4, 1, 3]);
});

test('what this engine does not run is refused by name', () => {
  assertFails(
    () => load({ pre_tokenizer: { type: 'Split', pattern: {}, behavior: 'Isolated' } }),
    'bad_model',
    'pre_tokenizer: pattern {}: expected {"Regex": "…"} or {"String": "…"}',
  );
  assertFails(() => load({}, { type: 'WordPiece' }), 'unsupported', 'model.type "WordPiece"');
  assertFails(() => load({}, { dropout: 0.1 }), 'unsupported', 'model.dropout 0.1');
  assertFails(() => load({ normalizer: { type: 'Rot13' } }), 'bad_model', 'Rot13');
  assertFails(
    () => load(split('a', 'MergedWithNext')),
    'unsupported',
    'Split behavior "MergedWithNext"',
  );
});

test('a pattern that may hang never runs', () => {
  assertFails(
    () => load(split('(a+)+$')),
    'unsupported',
    'pre_tokenizer: pattern "(a+)+$" refused',
  );
  const nested = {
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split('(a|aa)*b').pre_tokenizer] },
  };
  assertFails(() => load(nested), 'unsupported', 'pre_tokenizer.pretokenizers[0]');
  assertFails(() => load(split('[')), 'bad_model', 'tokenizer.json');
});

test('files that are no tokenizer', () => {
  assertFails(() => loadTokenizer(temporaryFolder()), 'bad_model', 'tokenizer.json: missing');
  const devstral = writeFiles(temporaryFolder(), { 'tekken.json': {} });
  const parts = ['tokenizer.json: missing', 'tekken.json is not read', 'GGUF'];
  assertFails(() => loadTokenizer(devstral), 'unsupported', ...parts);
  assertFails(() => load({ model: null }), 'bad_model', 'model: missing');
});
