import { indentWidth } from './indent';
import type { LanguageTraits } from './language';

/** An open bracket: the character that closes it and the indentation of its line. */
export interface Opener {
  readonly closer: string;
  readonly indent: number;
}

/** Inside a string or a comment: what ends it, and whether it may run past the end of a line. */
export interface Inside {
  readonly kind: 'string' | 'comment';
  readonly end: string;
  readonly lines: boolean;
  /** It began before the scanned text. */
  readonly outer: boolean;
}

export interface ScanState {
  /** Open brackets, innermost last. */
  readonly stack: readonly Opener[];
  readonly inside: Inside | null;
}
export const OUTSIDE: ScanState = { stack: [], inside: null };

/** A closing bracket or quote whose partner is not in the scanned text. */
export interface LoneCloser {
  readonly char: string;
  readonly index: number;
}

export interface LineScan {
  /** At the start of the next line. */
  readonly state: ScanState;
  /** At the end of this line: also a string or a comment that ends with it. */
  readonly inside: Inside | null;
  readonly lone: readonly LoneCloser[];
}

const CLOSER_OF: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const CLOSERS = ')]}';
const BEFORE_REGEX = '(,=:[!&|?{};+';
/** A regular expression is shorter. Without a limit each `/` of minified code would be a search through all of it. */
const MAX_LITERAL = 512;

/**
 * Reads one line as code: skips strings and comments, keeps the open brackets. No grammar; good for code that is
 * being typed. A string that must end with its line ends with it even when its quote is missing. `indent` is the column
 * at which the document's line begins; `line` may be its end only.
 */
export function scanLine(
  line: string,
  from: ScanState,
  traits: LanguageTraits,
  indent: number,
): LineScan {
  const stack = [...from.stack];
  const lone: LoneCloser[] = [];
  let inside = from.inside;
  let i = 0;
  while (i < line.length) {
    if (inside) {
      if (line[i] === '\\' && inside.kind === 'string') {
        i += 2;
      } else if (line.startsWith(inside.end, i)) {
        if (inside.outer && inside.kind === 'string') lone.push({ char: inside.end, index: i });
        i += inside.end.length;
        inside = null;
      } else {
        i++;
      }
      continue;
    }
    const opened = opens(line, i, traits);
    if (opened) {
      i += opened.length;
      inside = opened.inside;
      continue;
    }
    const char = line.charAt(i);
    const closer = CLOSER_OF[char];
    if (closer) stack.push({ closer, indent });
    else if (CLOSERS.includes(char) && !close(stack, char)) lone.push({ char, index: i });
    i++;
  }
  return { state: { stack, inside: inside?.lines ? inside : null }, inside, lone };
}

/** The state after `text` in the middle of its last line; what is open there began outside what follows. */
export function scanToCursor(text: string, traits: LanguageTraits, tabSize: number): ScanState {
  let scan: LineScan = { state: OUTSIDE, inside: null, lone: [] };
  for (const line of text.split('\n')) {
    scan = scanLine(line, scan.state, traits, indentWidth(line, tabSize));
  }
  return { stack: scan.state.stack, inside: scan.inside && { ...scan.inside, outer: true } };
}

interface Opened {
  readonly length: number;
  /** Null for a literal that is over with its text. */
  readonly inside: Inside | null;
}

/** The string, comment or literal that begins at `i`. */
function opens(line: string, i: number, traits: LanguageTraits): Opened | null {
  for (const [open, end] of traits.blockComments) {
    if (line.startsWith(open, i)) {
      return { length: open.length, inside: { kind: 'comment', end, lines: true, outer: false } };
    }
  }
  if (traits.lineComments.some((mark) => line.startsWith(mark, i))) {
    const inside: Inside = { kind: 'comment', end: '\n', lines: false, outer: false };
    return { length: line.length - i, inside };
  }
  for (const end of traits.longQuotes) {
    if (line.startsWith(end, i)) {
      return { length: end.length, inside: { kind: 'string', end, lines: true, outer: false } };
    }
  }
  const char = line.charAt(i);
  if (traits.quotes.includes(char)) {
    return { length: 1, inside: { kind: 'string', end: char, lines: false, outer: false } };
  }
  if (char === "'" && traits.charLiterals) {
    const literal = /^'(?:\\[^']+|[^'\\])'/.exec(line.slice(i, i + 16));
    return literal ? { length: literal[0].length, inside: null } : null;
  }
  if (char === '/' && traits.regexLiterals && regexMayFollow(line, i)) {
    const text = line.slice(i, i + MAX_LITERAL);
    const literal = /^\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\//.exec(text);
    return literal ? { length: literal[0].length, inside: null } : null;
  }
  return null;
}

/** False where a `/` divides: behind a value. */
function regexMayFollow(line: string, at: number): boolean {
  let end = at;
  while (end > 0 && /\s/.test(line.charAt(end - 1))) end--;
  return (
    end === 0 ||
    BEFORE_REGEX.includes(line.charAt(end - 1)) ||
    /\breturn$/.test(line.slice(Math.max(0, end - 'return'.length - 1), end))
  );
}

/** Pops to the partner of `char`; brackets left open above it are dropped with it. False when there is none. */
function close(stack: Opener[], char: string): boolean {
  for (let i = stack.length - 1; i >= 0; i--) {
    if (stack[i]?.closer === char) {
      stack.length = i;
      return true;
    }
  }
  return false;
}
