import type { CompletionRequest } from '../../protocol/completion';
import { indentWidth, isBlank, type IndentStyle } from './indent';
import { languageTraits, type LanguageTraits } from './language';
import {
  OUTSIDE,
  scanLine,
  scanToCursor,
  type Inside,
  type Opener,
  type ScanState,
} from './scanner';

/** Lines of the document that are read for brackets, above and below: enough for a long function. */
const LINES_ABOVE = 300;
const LINES_BELOW = 200;

/** Only what an editor closes by itself and what ends a statement: the text may go on before it or replace it. */
const CLOSING_REST = /^[)\]}"'`>;,\s]*$/;

/** A bracket that is open at the cursor, and whether the text below closes it already. */
export interface PendingOpener extends Opener {
  readonly served: boolean;
}

/** Everything that the stages ask about the text around the cursor; '\n' line ends. */
export interface Surroundings {
  readonly traits: LanguageTraits;
  readonly style: IndentStyle;
  /** The cursor's line up to the cursor. */
  readonly lineBefore: string;
  /** The cursor's line after the cursor, without trailing blanks. */
  readonly rest: string;
  /** `rest` is empty or only closes things. */
  readonly restCloses: boolean;
  /** String or comment that the cursor is in. */
  readonly inside: Inside | null;
  /** Brackets open at the cursor, innermost last. */
  readonly pending: readonly PendingOpener[];
  /** Closing brackets below that have no partner above the cursor. */
  readonly spare: readonly Opener[];
  /** The next non-blank lines below; at most three. */
  readonly below: readonly { readonly text: string; readonly indent: number }[];
  /** The last non-blank lines above the cursor's line, nearest last; at most four. */
  readonly above: readonly string[];
  /** Prefix and suffix for the prompt; a rest that only closes is left out so that auto-closing changes no token. */
  readonly promptPrefix: string;
  readonly promptSuffix: string;
}

export function lookAround(request: CompletionRequest): Surroundings {
  const prefix = toLf(request.prefix);
  const suffix = toLf(request.suffix);
  const { tabSize, insertSpaces } = request;
  const traits = languageTraits(request.languageId);
  const before = prefix.split('\n');
  const after = suffix.split('\n', LINES_BELOW);
  const lineBefore = before.at(-1) ?? '';
  const firstAfter = after[0] ?? '';
  const rest = firstAfter.trimEnd();
  const restCloses = CLOSING_REST.test(rest);

  const state = scanToCursor(tail(before, tabSize).join('\n'), traits, tabSize);
  const closers = loneClosers(after, state, lineBefore, traits, tabSize);
  return {
    traits,
    style: { tabSize, insertSpaces },
    lineBefore,
    rest,
    restCloses,
    inside: state.inside,
    ...partners(state.stack, closers),
    below: nonBlank(after.slice(1), 3).map((line) => ({
      text: line.trim(),
      indent: indentWidth(line, tabSize),
    })),
    above: nonBlank(before.slice(0, -1).reverse(), 4).reverse(),
    promptPrefix: prefix,
    promptSuffix: restCloses ? suffix.slice(firstAfter.length) : suffix,
  };
}

/** The lines below already are the inside of what a line of this indentation opens. */
export function bodyBelow({ below }: Surroundings, indent: number): boolean {
  const [next] = below;
  return next !== undefined && next.indent > indent;
}

export function toLf(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

/** The last lines, from one that begins at the margin: brackets open further up do not matter here. */
function tail(lines: readonly string[], tabSize: number): readonly string[] {
  if (lines.length <= LINES_ABOVE) return lines;
  const window = lines.slice(-LINES_ABOVE);
  const margin = window.findIndex((line) => !isBlank(line) && indentWidth(line, tabSize) === 0);
  return margin < 0 ? window : window.slice(margin);
}

function nonBlank(lines: readonly string[], limit: number): string[] {
  const found: string[] = [];
  for (const line of lines) {
    if (found.length === limit) break;
    if (!isBlank(line)) found.push(line.trimEnd());
  }
  return found;
}

interface ClosingBracket {
  readonly char: string;
  /** Indentation of its line when it begins the line. */
  readonly indent: number | null;
}

/** The closing brackets below whose openers stand above the cursor, in order. */
function loneClosers(
  lines: readonly string[],
  atCursor: ScanState,
  lineBefore: string,
  traits: LanguageTraits,
  tabSize: number,
): ClosingBracket[] {
  const closers: ClosingBracket[] = [];
  let state: ScanState = { ...OUTSIDE, inside: atCursor.inside };
  lines.forEach((line, row) => {
    const before = row > 0 ? '' : lineBefore;
    const full = before + line;
    const indent = indentWidth(full, tabSize);
    const scan = scanLine(line, state, traits, indent);
    state = scan.state;
    const start = full.search(/\S/);
    for (const { char, index } of scan.lone) {
      const begins = before.length + index === start;
      if (')]}'.includes(char)) closers.push({ char, indent: begins ? indent : null });
    }
  });
  return closers;
}

/**
 * Pairs open brackets with the closers below. A closer that begins its line belongs to an opener of that indentation;
 * one that stands deeper than an opener closes something that is still to be written.
 */
function partners(
  stack: readonly Opener[],
  closers: readonly ClosingBracket[],
): { pending: PendingOpener[]; spare: Opener[] } {
  const served = new Set<Opener>();
  const spare: Opener[] = [];
  let inner = stack.length - 1;
  for (const { char, indent } of closers) {
    const partner = partnerOf(stack, inner, char, indent);
    if (partner) {
      served.add(partner.opener);
      inner = partner.index - 1;
    } else {
      spare.push({ closer: char, indent: indent ?? 0 });
    }
  }
  return { pending: stack.map((opener) => ({ ...opener, served: served.has(opener) })), spare };
}

/** The innermost opener of that column, else the innermost one that does not stand left of it; from `inner` outwards. */
function partnerOf(
  stack: readonly Opener[],
  inner: number,
  closer: string,
  indent: number | null,
): { readonly opener: Opener; readonly index: number } | null {
  let deeper: { opener: Opener; index: number } | null = null;
  for (let index = inner; index >= 0; index--) {
    const opener = stack[index];
    if (opener?.closer !== closer) continue;
    if (opener.indent === indent) return { opener, index };
    if (opener.indent >= (indent ?? 0)) deeper ??= { opener, index };
    if (deeper && indent === null) break;
  }
  return deeper;
}
