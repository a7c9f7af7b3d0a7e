/** Code as a list of statements and declarations: by the indentation of its lines, whatever its language. */

export interface Line {
  readonly text: string;
  /** Offsets in the document, without the line's end. */
  readonly start: number;
  readonly end: number;
}

/** A statement or declaration with all that is within it. Indices of lines, the last one included. */
export interface Item {
  /** Of the comments and decorators before it; the head when there are none. */
  readonly lead: number;
  readonly head: number;
  readonly last: number;
  readonly depth: number;
}

/** Says something about what follows it. `#include` and its like are statements. */
const LEAD =
  /^\s*(\/\/|\/\*|\*|@|--|#(?!\s*(include|define|undef|if|ifdef|ifndef|else|endif|pragma))|<!--)/;
/** Goes on with what stands before it at the same depth: braces that close or stand alone, and further branches. */
const GOES_ON =
  /^\s*([)\]}{]|<\/|(else|elif|elsif|except|finally|catch|rescue|ensure|end|fi|done|esac|then|do)\b)/;

export function linesOf(text: string): Line[] {
  let start = 0;
  return text.split('\n').map((raw) => {
    const line = raw.replace(/\r$/, '');
    const at = start;
    start += raw.length + 1;
    return { text: line, start: at, end: at + line.length };
  });
}

/** The items that begin at this depth. */
export function itemsAt(lines: readonly Line[], depth: number): Item[] {
  const items: Item[] = [];
  let lead: number | null = null;
  for (let index = 0; index < lines.length; index++) {
    const text = lines[index]?.text ?? '';
    if (isBlank(text) || depthOf(text) !== depth) {
      // A comment belongs to what stands right below it.
      if (isBlank(text) || depthOf(text) < depth) lead = null;
    } else if (LEAD.test(text)) {
      lead ??= index;
    } else if (!GOES_ON.test(text)) {
      const last = lastOf(lines, index);
      items.push({ lead: lead ?? index, head: index, last, depth });
      index = last;
      lead = null;
    }
  }
  return items;
}

/** The last line of what begins at `head`: deeper lines, and those that go on at its own depth. */
function lastOf(lines: readonly Line[], head: number): number {
  const depth = depthOf(lines[head]?.text ?? '');
  let last = head;
  for (let index = head + 1; index < lines.length; index++) {
    const text = lines[index]?.text ?? '';
    if (isBlank(text)) continue;
    const goesOn = depthOf(text) > depth || (depthOf(text) === depth && GOES_ON.test(text));
    if (!goesOn) break;
    last = index;
  }
  return last;
}

export const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? '';
export const depthOf = (line: string): number => indentOf(line).length;
export const isBlank = (line: string): boolean => line.trim() === '';
