import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Healing } from '../../../extension/engine/generation/healing';
import { VocabularyIndex } from '../../../extension/engine/generation/vocabulary_index';

const VOCABULARY = ['', 'r', 're', 'ret', 'return', 'returns', 'turn', ' re', 'u', 'n', 'é'];
const bytes = (text: string) => new TextEncoder().encode(text);
const index = new VocabularyIndex(VOCABULARY.map(bytes));
const words = (ids: readonly number[]) => ids.map((id) => VOCABULARY[id]).sort();

test('compatible tokens begin with the bytes or are a beginning of them', () => {
  assert.deepEqual(words(index.compatible(bytes('re'))), ['r', 're', 'ret', 'return', 'returns']);
  assert.deepEqual(words(index.compatible(bytes('retu'))), ['r', 're', 'ret', 'return', 'returns']);
  assert.deepEqual(words(index.compatible(bytes('x'))), []);
  assert.deepEqual(words(index.compatible(bytes('é').subarray(0, 1))), ['é']);
});

test('healing spells the typed bytes and gives back what goes beyond', () => {
  const healing = new Healing(index, bytes('retu'));
  assert.deepEqual(healing.accept(bytes('re')), new Uint8Array());
  assert.deepEqual(words(healing.allowed()), ['turn']);
  assert.deepEqual(healing.accept(bytes('turn')), bytes('rn'));
  assert.equal(healing.active, false);
});
