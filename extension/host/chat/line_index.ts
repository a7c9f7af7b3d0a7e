import { declaredBy } from './declarations';
import { depthOf, type Line } from './items';

/** A line of fewer letters, such as `}` or `else {`, says nothing about a place. */
const MIN_ANCHOR = 6;

/** Lines of a document by their text, and by what they declare. */
export class LineIndex {
  private readonly byText: ReadonlyMap<string, number[]>;
  private readonly byName: ReadonlyMap<string, number[]>;

  constructor(private readonly lines: readonly Line[]) {
    this.byText = grouped(lines, ({ text }) => text.trim());
    this.byName = grouped(lines, ({ text }) => declaredBy(text));
  }

  /** The only line with the same text, else the only one that declares the same; null when there are two or none. */
  placeOf(text: string, depth: number | undefined): number | null {
    const wanted = text.trim();
    if (wanted.length < MIN_ANCHOR) return null;
    const isDeep = (index: number): boolean =>
      depth === undefined || depthOf(this.lines[index]?.text ?? '') === depth;
    const same = (this.byText.get(wanted) ?? []).filter(isDeep);
    const found =
      same.length > 0 ? same : (this.byName.get(declaredBy(text) ?? '') ?? []).filter(isDeep);
    return found.length === 1 ? (found[0] ?? null) : null;
  }
}

function grouped(
  lines: readonly Line[],
  keyOf: (line: Line) => string | null,
): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const key = keyOf(line);
    if (key === null || key === '') continue;
    const group = groups.get(key);
    if (group) group.push(index);
    else groups.set(key, [index]);
  }
  return groups;
}
