import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { date, number, useLanguage } from '../../extension/protocol/numbers';

afterEach(() => useLanguage('en'));

const shown = (language: string): string[] => {
  useLanguage(language);
  return [number(1234567), number(0.5, 1), date(Date.UTC(2026, 10, 30, 12))];
};

test('numbers and dates are written as the language does', () => {
  assert.deepEqual(shown('en'), ['1,234,567', '0.5', 'Nov 30, 2026']);
  assert.deepEqual(shown('de'), ['1.234.567', '0,5', '30.11.2026']);
  assert.deepEqual(shown('pt-br'), ['1.234.567', '0,5', '30 de nov. de 2026']);
});

test('of a language that nobody knows, as in English', () => {
  for (const language of ['', 'no such language', 'qps-ploc']) {
    assert.deepEqual(shown(language), shown('en'), language);
  }
});
