/** Where code of an answer belongs in a document. */
import { declaredBy, isImport } from './declarations';
import { depthOf, indentOf, isBlank, itemsAt, linesOf, type Item, type Line } from './items';
import { LineIndex } from './line_index';

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ApplyPlan extends Span {
  /** What stands in the place of the span then. */
  readonly text: string;
  readonly how: 'anchor' | 'selection' | 'insert';
}

/**
 * Finds the place: where the document has the same statements or declares the same names, else the selection, else the
 * cursor. The code takes on the indentation of its place.
 */
export function planApply(document: string, code: string, selection: Span): ApplyPlan {
  const eol = document.includes('\r\n') ? '\r\n' : '\n';
  const wanted = code
    .replaceAll('\r\n', '\n')
    .replace(/^\n+|\s+$/g, '')
    .split('\n');
  const lines = linesOf(document);
  const found = replacement(lines, wanted);
  if (found) {
    const [first, last] = [lines[found.from], lines[found.to]];
    const text = found.lines.join(eol);
    return { start: first?.start ?? 0, end: last?.end ?? 0, text, how: 'anchor' };
  }
  return selection.end > selection.start
    ? atSelection(document, lines, wanted, selection, eol)
    : atCursor(lines, wanted, selection.start, eol);
}

function atSelection(
  document: string,
  lines: readonly Line[],
  wanted: readonly string[],
  { start, end }: Span,
  eol: string,
): ApplyPlan {
  const line = lineAt(lines, start);
  const isWhole = isBlank(document.slice(line.start, start));
  const text = reindent(wanted, indentOf(line.text)).join(eol);
  return {
    start: isWhole ? line.start : start,
    end,
    // Whole lines are selected with the end of the last one.
    text: (isWhole ? text : text.trimStart()) + (document[end - 1] === '\n' ? eol : ''),
    how: 'selection',
  };
}

/** Lines of their own, before the text that stands behind the cursor and after that before it. */
function atCursor(
  lines: readonly Line[],
  wanted: readonly string[],
  cursor: number,
  eol: string,
): ApplyPlan {
  const line = lineAt(lines, cursor);
  const text = reindent(wanted, indentOf(line.text)).join(eol);
  if (!isBlank(line.text.slice(0, cursor - line.start))) {
    return { start: line.end, end: line.end, text: eol + text, how: 'insert' };
  }
  const end = isBlank(line.text) ? cursor : line.start;
  return { start: line.start, end, text: text + eol, how: 'insert' };
}

/** New lines for the lines `from` to `to` of a document. */
interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

interface Match {
  /** Of the code. */
  readonly item: Item;
  /** Of the document. */
  readonly place: Item;
}

function replacement(lines: readonly Line[], code: readonly string[]): Replacement | null {
  const codeLines = linesOf(code.join('\n'));
  const items = itemsAt(codeLines, depthOf(code[0] ?? ''));
  const matches = matchesOf(lines, codeLines, items);
  const [first, last] = [matches[0], matches.at(-1)];
  if (first === undefined || last === undefined) return null;
  const written = reindent(code, indentOf(lines[first.place.head]?.text ?? ''));
  const from = startWith(lines, written.slice(0, first.item.lead), startOf(first));
  const spansAll = first.item === items[0] && last.item === items.at(-1);
  return spansAll && leavesNothingOut(lines, codeLines, items, first.place, last.place)
    ? { from, to: last.place.last, lines: written }
    : { from, to: last.place.last, lines: oneByOne(lines, written, matches) };
}

/** Where the comments of the place begin when the code has some too, else they stay. */
function startOf({ item, place }: Match): number {
  return item.lead < item.head ? place.lead : place.head;
}

/** What the code begins with before its first match may stand before the place as well. */
function startWith(lines: readonly Line[], before: readonly string[], start: number): number {
  const from = start - before.length;
  const isSame = before.every((text, index) => lines[from + index]?.text.trim() === text.trim());
  return from >= 0 && isSame ? from : start;
}

/** In the order of both; none when what fits says too little about the place. */
function matchesOf(lines: readonly Line[], code: readonly Line[], items: readonly Item[]): Match[] {
  const heads = new Map<number, Item[]>();
  const itemsOf = (depth: number): Item[] => {
    const items = heads.get(depth) ?? itemsAt(lines, depth);
    heads.set(depth, items);
    return items;
  };
  const known = new LineIndex(lines);
  const matches: Match[] = [];
  let isSure = false;
  for (const item of items) {
    const previous = matches.at(-1)?.place;
    const text = code[item.head]?.text ?? '';
    const at = known.placeOf(text, previous?.depth);
    const place = at === null ? undefined : itemsOf(depthOf(lines[at]?.text ?? '')).find(isAt(at));
    // A place above the last one would be in the wrong order.
    if (place === undefined || (previous && place.head <= previous.last)) continue;
    matches.push({ item, place });
    const declared = declaredBy(text);
    isSure ||= item.last > item.head || (declared !== null && !isImport(declared));
  }
  return isSure || 2 * matches.length >= items.length ? matches : [];
}

const isAt =
  (head: number) =>
  (item: Item): boolean =>
    item.head === head;

/** Every declaration of the document between two places is one of the code as well. */
function leavesNothingOut(
  lines: readonly Line[],
  code: readonly Line[],
  items: readonly Item[],
  first: Item,
  last: Item,
): boolean {
  const kept = new Set(items.map(({ head }) => declaredBy(code[head]?.text ?? '')));
  return itemsAt(lines.slice(0, last.last + 1), first.depth)
    .filter(({ head }) => head > first.head)
    .map(({ head }) => declaredBy(lines[head]?.text ?? ''))
    .every((declared) => declared === null || kept.has(declared));
}

/** Each item in the place of the one it matches; what is new stands right behind what it follows in the code. */
function oneByOne(
  lines: readonly Line[],
  code: readonly string[],
  matches: readonly Match[],
): string[] {
  const written: string[] = [];
  for (const [index, match] of matches.entries()) {
    const { item } = match;
    const previous = matches[index - 1];
    const isNew = code.slice(previous ? previous.item.last + 1 : 0, item.lead);
    if (previous) {
      written.push(...withoutEnd(isNew));
      const between = lines.slice(previous.place.last + 1, startOf(match));
      written.push(...between.map(({ text }) => text));
    } else {
      written.push(...isNew);
    }
    written.push(...code.slice(item.lead, item.last + 1));
  }
  return [...written, ...code.slice((matches.at(-1)?.item.last ?? 0) + 1)];
}

/** Without the blank lines at its end. */
function withoutEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => !isBlank(line)) + 1);
}

/** The last line that begins at or before an offset. */
function lineAt(lines: readonly Line[], offset: number): Line {
  return lines.findLast(({ start }) => start <= offset) ?? { text: '', start: 0, end: 0 };
}

function reindent(code: readonly string[], indent: string): string[] {
  const own = indentOf(code[0] ?? '');
  return code.map((line) => {
    if (isBlank(line)) return '';
    return indent + (line.startsWith(own) ? line.slice(own.length) : line.trimStart());
  });
}

/** Files that make programs run: a change is asked for in so many words. */
const SENSITIVE =
  /(^|\/)\.(vscode|git|github|idea|ssh|devcontainer|husky|circleci|cargo)\/|\.code-workspace$|(^|\/)(\.\w*(rc|profile|shenv|login|logout)|\.gitlab-ci\.yml|package\.json|(GNU)?Makefile)$/i;

export function isSensitive(path: string): boolean {
  return SENSITIVE.test(path.replaceAll('\\', '/'));
}
