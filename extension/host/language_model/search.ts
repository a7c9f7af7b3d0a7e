/** Lines of a text that have some words, and files by the paths that models write. */

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

/** Whether a model means a file: by its path in the workspace, the end of it, or the whole one, in either way of writing. */
export function isPathOf(absolute: string, relative: string, written: string): boolean {
  const path = written.replaceAll('\\', '/').replace(/^\.\//, '');
  const files = [absolute, absolute.slice(1), relative].map((file) => file.replaceAll('\\', '/'));
  return files.some((file) => file === path || file.endsWith(`/${path}`));
}
