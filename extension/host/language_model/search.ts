/** Lines of a text that have some words. */

export interface Match {
  /** One-based. */
  readonly line: number;
  readonly text: string;
}

/** A line of minified code would fill the context. */
const MAX_LINE = 200;

/** Lines with `words` in them, capitals and small letters alike, at most `limit`. */
export function matchingLines(text: string, words: string, limit: number): Match[] {
  const wanted = words.toLowerCase();
  if (!text.toLowerCase().includes(wanted)) return [];
  const found: Match[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (found.length === limit) break;
    const at = line.toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const from = line.length > MAX_LINE ? Math.max(0, at - MAX_LINE / 2) : 0;
    found.push({ line: index + 1, text: line.slice(from, from + MAX_LINE).trim() });
  }
  return found;
}
