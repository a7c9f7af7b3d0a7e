import type { LoneCloser } from './scanner';

/** A shorter overlap of ordinary text is chance. */
const MIN_OVERLAP = 2;

/** The length of the longest end of `text` that is a start of `rest`, between word borders; 0 = none. */
export function overlap(text: string, rest: string): number {
  for (let length = Math.min(text.length, rest.length); length > 0; length--) {
    const common = rest.slice(0, length);
    if (!text.endsWith(common)) continue;
    if (splitsWord(text, text.length - length) || splitsWord(rest, length)) continue;
    const punctuation = !/[\w\s]/.test(common);
    if (punctuation || length >= MIN_OVERLAP || length === rest.length) return length;
  }
  return 0;
}

/** A shorter common end is chance. */
const MIN_COMMON_END = 3;

/**
 * Where `text` goes on with `rest` and puts something into its middle, as in `onClick={go}>Go</button>` before
 * `></button>`; -1 = nowhere. What it puts there is given up: an insertion in front of the rest cannot have it.
 */
export function embedsAt(text: string, rest: string): number {
  let common = 0;
  while (
    common < Math.min(text.length, rest.length) &&
    text.at(-1 - common) === rest.at(-1 - common)
  ) {
    common++;
  }
  const start = rest.slice(0, rest.length - common).trimEnd();
  const end = rest.slice(start.length);
  if (start === '' || common < MIN_COMMON_END || !/\w/.test(end)) return -1;
  if (splitsWord(rest, rest.length - common)) return -1;
  return text.slice(0, text.length - common).lastIndexOf(start);
}

function splitsWord(text: string, at: number): boolean {
  return /\w/.test(text.charAt(at - 1)) && /\w/.test(text.charAt(at));
}

/**
 * Pairs the closers of a suggested line with those that stand right of the cursor. The line `a, b);` before the rest
 * `)` takes its place; what follows at once and is in the rest too (`;`) goes with it.
 */
export class RestCloser {
  /** Characters of the rest that the line contains. */
  used = 0;
  /** Index in the line behind the last character that the rest has too. */
  private behind = -1;

  constructor(private readonly rest: string) {}

  /** True when the closer stands next in the rest, which then gives it up. */
  take(line: string, closer: LoneCloser): boolean {
    this.takeEqual(line, closer.index);
    const at = this.skipBlanks(this.used);
    if (!this.rest.startsWith(closer.char, at)) return false;
    this.used = at + closer.char.length;
    this.behind = closer.index + closer.char.length;
    this.takeEqual(line, line.length);
    return true;
  }

  /** Takes what follows the last taken character in both texts, up to `limit` in the line. */
  private takeEqual(line: string, limit: number): void {
    while (this.behind >= 0 && this.behind < limit && /[;,>]/.test(line.charAt(this.behind))) {
      if (this.rest[this.used] !== line[this.behind]) break;
      this.used++;
      this.behind++;
    }
  }

  private skipBlanks(from: number): number {
    let at = from;
    while (this.rest[at] === ' ') at++;
    return at;
  }
}
