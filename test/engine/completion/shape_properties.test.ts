import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OUTSIDE, scanLine } from '../../../extension/engine/completion/scanner';
import { languageTraits } from '../../../extension/engine/completion/language';
import { MULTILINE_MODES } from '../../../extension/protocol/completion';
import { CURSOR, requestAt, shapeAt } from './marked';

const PIECES = [
  ...['(', ')', '[', ']', '{', '}', '"', "'", '`', ';', ',', ' ', '  ', '\n', '\n  ', '\n    '],
  ...['foo', 'bar()', 'if (a) {', 'return', ' = ', '=>', '// note', '/*', '*/', '\t', 'é', '👩‍💻'],
];

/** A repeatable source of numbers below `limit`. */
function randomSource(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function text(random: (limit: number) => number, length: number): string {
  return Array.from({ length }, () => PIECES[random(PIECES.length)] ?? '').join('');
}

/** Closing brackets without an opener, and brackets left open. */
function imbalance(document: string): number {
  const traits = languageTraits('typescript');
  let state = OUTSIDE;
  let lone = 0;
  for (const line of document.split('\n')) {
    const scan = scanLine(line, state, traits, 0);
    state = scan.state;
    lone += scan.lone.length;
  }
  return lone;
}

describe('shape, whatever the model writes', () => {
  const random = randomSource(42);
  const runs = Array.from({ length: 3000 }, () => {
    const multiline = MULTILINE_MODES[random(3)] ?? 'auto';
    const document = `${text(random, random(12))}${CURSOR}${text(random, random(8))}`;
    const request = requestAt(document, { multiline });
    const generated = text(random, random(40));
    return { request, generated, end: random(2) === 0 ? 'model' : 'length' } as const;
  });

  it('has text or a reason, never both, and no blanks at its end', () => {
    for (const { request, generated, end } of runs) {
      const { text, reason, replaceAfter } = shapeAt(request, generated, end);
      assert.equal(text === '', reason !== null);
      const rest = request.suffix.split('\n')[0] ?? '';
      assert(replaceAfter <= rest.length);
      if (rest.trim() === '') assert.doesNotMatch(text, /\s$/, JSON.stringify({ generated, text }));
    }
  });

  it('does not depend on how the text is cut into pieces', () => {
    for (const { request, generated, end } of runs) {
      const want = shapeAt(request, generated, end, 1);
      for (const size of [3, 1000]) {
        assert.deepEqual(shapeAt(request, generated, end, size), want);
      }
    }
  });

  it('is one line in mode never', () => {
    for (const { request, generated, end } of runs) {
      const { text } = shapeAt({ ...request, multiline: 'never' }, generated, end);
      assert.doesNotMatch(text, /\n/);
    }
  });

  it('adds no closing bracket that has no opener', () => {
    for (const { request, generated, end } of runs) {
      if (/["'`/]/.test(request.prefix + request.suffix + generated)) continue;
      const { text, replaceAfter } = shapeAt(request, generated, end);
      const before = imbalance(request.prefix + request.suffix);
      const after = imbalance(request.prefix + text + request.suffix.slice(replaceAfter));
      assert(
        after <= before,
        JSON.stringify({ document: request.prefix + CURSOR + request.suffix, generated, text }),
      );
    }
  });
});
