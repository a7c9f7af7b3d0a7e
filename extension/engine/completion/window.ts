/**
 * The prefix window begins at a document line that is a multiple of this: it stays put while the user types, so that
 * the engine's cached keys and values of it stay valid, and moves on once in so many lines.
 */
const ANCHOR_LINES = 16;
/** A line longer than the budget (minified code) is cut at a multiple of this many characters, for the same reason. */
const ANCHOR_CHARS = 256;
/** A line with more characters than this for each token of the budget does not fit, and need not be counted. */
const MAX_CHARS_PER_TOKEN = 16;
/** A line above that takes more of the budget is data; the lines below it are all kept. */
const LONG_LINE_SHARE = 0.25;
/** What is kept of a line that does not fit; of code, nearly all of it fits then. */
const KEPT_CHARS_PER_TOKEN = 2;
/** Lines whose token count is remembered; a document's lines change little between keystrokes. */
const MAX_REMEMBERED = 4096;

/** Counts tokens line by line. The sum over lines is close to the count of the whole, and not less. */
export class TokenCounter {
  private readonly counts = new Map<string, number>();

  constructor(private readonly countText: (text: string) => number) {}

  count(line: string): number {
    let count = this.counts.get(line);
    if (count === undefined) {
      if (this.counts.size >= MAX_REMEMBERED) this.counts.clear();
      count = this.countText(line);
      this.counts.set(line, count);
    }
    return count;
  }

  /** Infinity instead of a count that is beyond the budget anyway. */
  within(line: string, budget: number): number {
    return line.length > budget * MAX_CHARS_PER_TOKEN ? Infinity : this.count(line);
  }
}

/** The end of `prefix` that fits `budget` tokens, from an anchored start. `firstLine` is the prefix's first line. */
export function prefixWindow(
  prefix: string,
  firstLine: number,
  budget: number,
  counter: TokenCounter,
): string {
  const lines = prefix.split(/(?<=\n)/);
  let used = 0;
  let fits = lines.length;
  let count = 0;
  while (fits > 0) {
    count = counter.within(lines[fits - 1] ?? '', budget);
    if (used + count > budget) break;
    used += count;
    fits--;
  }
  if (fits === 0) return prefix;
  if (fits === lines.length) return lineEnd(lines.at(-1) ?? '', budget, counter);
  // A long line is a border that typing does not move.
  if (count > budget * LONG_LINE_SHARE) return lines.slice(fits).join('');
  const step = ANCHOR_LINES;
  const anchor = Math.ceil((firstLine + fits) / step) * step - firstLine;
  // Where a step of lines is longer than the budget, any line has to do.
  return lines.slice(anchor < lines.length ? anchor : fits).join('');
}

/** The beginning of `suffix` that fits `budget` tokens, in whole lines except for a first one that is too long. */
export function suffixWindow(suffix: string, budget: number, counter: TokenCounter): string {
  const lines = suffix.split(/(?<=\n)/);
  let used = 0;
  let end = 0;
  while (end < lines.length) {
    used += counter.within(lines[end] ?? '', budget);
    if (used > budget) break;
    end++;
  }
  if (end > 0) return lines.slice(0, end).join('');
  let first = (lines[0] ?? '').slice(0, budget * KEPT_CHARS_PER_TOKEN);
  while (counter.count(first) > budget) first = first.slice(0, first.length / 2);
  return first;
}

function lineEnd(line: string, budget: number, counter: TokenCounter): string {
  const over = line.length - budget * KEPT_CHARS_PER_TOKEN;
  let start = Math.max(0, Math.ceil(over / ANCHOR_CHARS) * ANCHOR_CHARS);
  while (counter.count(line.slice(start)) > budget) start += ANCHOR_CHARS;
  return line.slice(start);
}
