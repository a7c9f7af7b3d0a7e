import type { CompletionRequest } from '../../protocol/completion';

/** Far more than a prompt holds, and little enough to cut and send in a millisecond. */
const PREFIX_CHARS = 48 * 1024;
const SUFFIX_CHARS = 12 * 1024;
/** A line above that is longer (data, minified code) ends what is read: it would leave no room for the others. */
const MAX_LINE_ABOVE = PREFIX_CHARS / 4;
/** A cut prefix begins at a multiple of this many lines, so that it begins there at the next keystroke too. */
const ANCHOR_LINES = 64;

/** The lines of a document. */
export interface TextView {
  readonly lineCount: number;
  line(index: number): string;
}

/** Zero-based; `character` counts UTF-16 units. */
export interface Cursor {
  readonly line: number;
  readonly character: number;
}

/** The item that the suggest widget would insert: its text and the columns of the cursor's line that it replaces. */
export interface SelectedItem {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What is known of the document when a suggestion is wanted. The text is as if the selected item were accepted. */
export interface Snapshot extends Pick<
  CompletionRequest,
  'path' | 'languageId' | 'prefix' | 'prefixLine' | 'suffix' | 'eol' | 'tabSize' | 'insertSpaces'
> {
  readonly uri: string;
  readonly cursor: Cursor;
  readonly selected: SelectedItem | null;
}

export interface Around {
  readonly prefix: string;
  readonly prefixLine: number;
  readonly suffix: string;
}

/** Cuts the text around the cursor from a document of any size. */
export function textAround(
  view: TextView,
  cursor: Cursor,
  selected: SelectedItem | null,
  eol: string,
): Around {
  const line = view.line(cursor.line);
  const head = line.slice(0, selected?.start ?? cursor.character) + (selected?.text ?? '');
  const rest = line.slice(selected?.end ?? cursor.character);
  const first = firstLineOf(view, cursor.line, PREFIX_CHARS - head.length, eol);
  const above = Array.from({ length: cursor.line - first }, (_, i) => view.line(first + i) + eol);

  let suffix = rest;
  for (let i = cursor.line + 1; i < view.lineCount && suffix.length < SUFFIX_CHARS; i++) {
    suffix += eol + view.line(i);
  }
  return {
    prefix: above.join('') + lastChars(head, PREFIX_CHARS),
    prefixLine: first,
    suffix: suffix.slice(0, SUFFIX_CHARS * 2),
  };
}

/** The line that a prefix begins with which has `room` characters for the lines above the cursor's. */
function firstLineOf(view: TextView, cursorLine: number, room: number, eol: string): number {
  let first = cursorLine;
  let left = room;
  while (first > 0) {
    const { length } = view.line(first - 1);
    if (length > MAX_LINE_ABOVE) return first;
    left -= length + eol.length;
    if (left < 0) {
      const anchor = Math.ceil(first / ANCHOR_LINES) * ANCHOR_LINES;
      return anchor < cursorLine ? anchor : first;
    }
    first--;
  }
  return first;
}

/** The end of one long line, cut in steps for the same reason as lines are. */
function lastChars(line: string, limit: number): string {
  if (line.length <= limit) return line;
  const step = limit / 4;
  return line.slice(Math.ceil((line.length - limit) / step) * step);
}

/** Earlier code cells of a notebook, in order, as text above the current one. */
export function cellsAbove(cells: readonly string[], eol: string): string {
  let size = 0;
  let first = cells.length;
  while (first > 0 && size < PREFIX_CHARS / 2) size += cells[--first]?.length ?? 0;
  if (size > PREFIX_CHARS / 2) first++;
  return cells
    .slice(first)
    .map((cell) => cell.trimEnd() + eol + eol)
    .join('');
}
