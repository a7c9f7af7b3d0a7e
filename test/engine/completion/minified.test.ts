import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accept } from './marked';

/** A prompt's worth of one line, as minified code has it. */
const CHARS = 48_000;
/** Of the processor's time; each took several seconds when the work grew with the square of the line's length. */
const MAX_MS = 1000;

const fill = (unit: string): string => unit.repeat(CHARS / unit.length);
const cases = [
  { name: 'divisions and regular expressions', line: fill('a/b/c+d/'), languageId: 'javascript' },
  { name: 'regular expressions without an end', line: fill('(/[a'), languageId: 'javascript' },
  { name: 'open brackets', line: fill('(['), languageId: 'javascript' },
  { name: 'closing brackets', line: fill(')]'), languageId: 'javascript' },
  { name: 'headers of blocks', line: fill('function('), languageId: 'lua' },
];

describe('a line of minified code', () => {
  for (const { name, line, languageId } of cases) {
    it(`is read in time: ${name}`, () => {
      for (const document of [
        `${line}▮`,
        `▮${line}`,
        `${line}\n▮`,
        `▮\n${line}`,
        `${line}▮${line}`,
      ]) {
        const before = process.cpuUsage();
        accept(document, 'foo();\n', { languageId });
        const { user } = process.cpuUsage(before);
        assert(
          user / 1000 < MAX_MS,
          `${user / 1000} ms with the cursor at ${document.indexOf('▮')}`,
        );
      }
    });
  }
});
