/** Where code of an answer belongs in a document. */

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ApplyPlan extends Span {
  /** Offsets of what is replaced, and what stands there then. */
  readonly text: string;
  readonly how: 'anchor' | 'selection' | 'insert';
}

interface Line {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A region that is this much longer or shorter than the code is another one. */
const MAX_STRETCH = 3;
/** A line of fewer letters, such as `}` or `else {`, says nothing about a place. */
const MIN_ANCHOR = 6;

/**
 * Finds the place: lines that begin and end as the code does (the same first line, or the same declaration up to its
 * parameters), else the selection, else the cursor. The code takes on the indentation of its place.
 */
export function planApply(document: string, code: string, selection: Span): ApplyPlan {
  const eol = document.includes('\r\n') ? '\r\n' : '\n';
  const wanted = code
    .replaceAll('\r\n', '\n')
    .replace(/^\n+|\s+$/g, '')
    .split('\n');
  const lines = linesOf(document);
  const region = findRegion(lines, wanted);
  const write = (indent: string): string => reindent(wanted, indent).join(eol);
  if (region) {
    const [first, last] = region;
    return { start: first.start, end: last.end, text: write(indentOf(first.text)), how: 'anchor' };
  }
  const line = lines.findLast(({ start }) => start <= selection.start);
  const indent = indentOf(line?.text ?? '');
  const followsBlanks = document.slice(line?.start ?? 0, selection.start).trim() === '';
  const start = followsBlanks ? (line?.start ?? selection.start) : selection.start;
  if (selection.end > selection.start) {
    return { start, end: selection.end, text: write(indent), how: 'selection' };
  }
  return { start, end: selection.end, text: write(indent) + eol, how: 'insert' };
}

function findRegion(lines: readonly Line[], wanted: readonly string[]): [Line, Line] | null {
  const first = wanted[0]?.trim() ?? '';
  const last = wanted.at(-1)?.trim() ?? '';
  if (first.length < MIN_ANCHOR) return null;
  const starts = indicesOf(lines, ({ text }) => text.trim() === first);
  const candidates =
    starts.length > 0 ? starts : indicesOf(lines, ({ text }) => sameDeclaration(text, first));
  // Two places that fit equally well are none.
  if (candidates.length !== 1) return null;
  const at = candidates[0] ?? 0;
  const end = endOf(lines, at, last, wanted.length);
  const [from, to] = [lines[at], lines[end]];
  return from && to ? [from, to] : null;
}

/** The line that closes what begins at `at`: as the code ends and as deep as it begins, else where the block ends. */
function endOf(lines: readonly Line[], at: number, last: string, length: number): number {
  const indent = indentOf(lines[at]?.text ?? '').length;
  const limit = Math.min(lines.length, at + length * MAX_STRETCH + 10);
  let block = at;
  for (let index = at + 1; index < limit; index++) {
    const text = lines[index]?.text ?? '';
    if (text.trim() === '') continue;
    const depth = indentOf(text).length;
    if (depth === indent && text.trim() === last) return index;
    if (depth < indent || (depth === indent && !/^\s*[)\]}]/.test(text))) return block;
    block = index;
  }
  return block;
}

/** `function add(a: number)` and `function add(a, b)` declare the same. */
function sameDeclaration(line: string, other: string): boolean {
  const name = declarationOf(line);
  return name !== null && name === declarationOf(other);
}

function declarationOf(line: string): string | null {
  const [, head] = /^\s*([\w\s.*&:<>,[\]@]*\w)\s*\(/.exec(line) ?? [];
  const words = head?.trim().split(/\s+/) ?? [];
  const declares =
    words.length > 1 && !/^(return|await|throw|if|for|while|switch)$/.test(words[0] ?? '');
  return declares
    ? words.filter((word) => !/^(export|async|public|static)$/.test(word)).join(' ')
    : null;
}

function reindent(code: readonly string[], indent: string): string[] {
  const own = indentOf(code[0] ?? '');
  return code.map((line) => {
    if (line.trim() === '') return '';
    return indent + (line.startsWith(own) ? line.slice(own.length) : line.trimStart());
  });
}

function linesOf(document: string): Line[] {
  let start = 0;
  return document.split('\n').map((raw) => {
    const text = raw.replace(/\r$/, '');
    const line = { text, start, end: start + text.length };
    start += raw.length + 1;
    return line;
  });
}

function indicesOf<T>(list: readonly T[], fits: (item: T) => boolean): number[] {
  return list.flatMap((item, index) => (fits(item) ? [index] : []));
}

const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? '';

/** Files that make programs run: a change is asked for in so many words. */
const SENSITIVE =
  /(^|\/)\.(vscode|git|github|idea|ssh|devcontainer|husky|circleci|cargo)\/|\.code-workspace$|(^|\/)(\.\w*(rc|profile|shenv|login|logout)|\.gitlab-ci\.yml|package\.json|(GNU)?Makefile)$/i;

export function isSensitive(path: string): boolean {
  return SENSITIVE.test(path.replaceAll('\\', '/'));
}
