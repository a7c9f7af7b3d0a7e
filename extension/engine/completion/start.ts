import { indentText, indentWidth, isBlank, leadingBlanks } from './indent';
import { opensBlock, type Place } from './place';
import type { Surroundings } from './surroundings';

/** Blank text longer than this is a model that has nothing to say. */
const MAX_BLANK_START = 256;

export type Start =
  | { readonly kind: 'text'; readonly text: string }
  /** Only blanks so far. */
  | { readonly kind: 'unknown' }
  /** The text has no place here. */
  | { readonly kind: 'nothing' };

/**
 * Puts the start of generated text right: which blanks and blank lines before the first word belong to the
 * suggestion.
 */
export function cleanStart(raw: string, around: Surroundings, place: Place): Start {
  const word = raw.search(/\S/);
  const blanks = word < 0 ? raw : raw.slice(0, word);
  const newline = blanks.lastIndexOf('\n');
  if (place.kind === 'line' && newline >= 0) return { kind: 'nothing' };
  if (word < 0) return raw.length > MAX_BLANK_START ? { kind: 'nothing' } : { kind: 'unknown' };
  const lead = blanks.slice(newline + 1);
  return { kind: 'text', text: kept(lead, newline >= 0, around, place) + raw.slice(word) };
}

/** Of the blanks before the first word, those to insert. */
function kept(lead: string, onNewLine: boolean, around: Surroundings, place: Place): string {
  if (onNewLine && place.kind === 'body') return `\n${lead}`;
  // One blank on each side is one too many; more are a column of the writer's.
  if (!isBlank(around.lineBefore))
    return lead === ' ' && /\S\s$/.test(around.lineBefore) ? '' : lead;
  return onNewLine ? fullIndent(lead, around) : caretIndent(lead, around);
}

/** A new line's own indentation, less the blanks that stand left of the cursor already. */
function fullIndent(lead: string, around: Surroundings): string {
  return lead.startsWith(around.lineBefore) ? lead.slice(around.lineBefore.length) : '';
}

/**
 * On a line with only blanks before the cursor a model goes on with the indentation, repeats all of it, or is off by
 * a blank. Of these readings the one nearest to what the lines above ask for is taken.
 */
function caretIndent(lead: string, around: Surroundings): string {
  const { lineBefore, style, above, traits } = around;
  if (lead === '' || lineBefore === '') return lead;
  const previous = above.at(-1) ?? '';
  const opened = opensBlock(previous, traits) ? style.tabSize : 0;
  const expected = indentWidth(leadingBlanks(previous), style.tabSize) + opened;
  const caret = indentWidth(lineBefore, style.tabSize);
  const widths = [
    indentWidth(lineBefore + lead, style.tabSize),
    indentWidth(lead, style.tabSize),
    caret,
  ].filter((width) => width >= caret);
  const best = widths.reduce((a, b) => (Math.abs(b - expected) < Math.abs(a - expected) ? b : a));
  const full = indentText(best, style);
  return full.startsWith(lineBefore) ? full.slice(lineBefore.length) : '';
}
