import type { MultilineMode } from '../../protocol/completion';
import { indentWidth, isBlank } from './indent';
import type { LanguageTraits } from './language';
import type { Surroundings } from './surroundings';

/** What the cursor's place asks for. */
export type Place =
  /** The rest of this line, and then nothing, the block that the line opens, or the statements after it. */
  | { readonly kind: 'line'; readonly then: 'nothing' | 'block' | 'statements' }
  /** The body of the block that this line opened, whose header stands at column `indent`. */
  | { readonly kind: 'body'; readonly indent: number }
  /** On a blank line: statements at the indentation of the first of them. */
  | { readonly kind: 'statements' };

export function placeOf(around: Surroundings, mode: MultilineMode): Place {
  const { lineBefore, rest, restCloses, inside, traits, style } = around;
  if (mode === 'never' || !restCloses) return { kind: 'line', then: 'nothing' };
  const then = mode === 'always' ? 'statements' : 'block';
  if (inside) return { kind: 'line', then: mode === 'always' ? then : 'nothing' };
  if (isBlank(lineBefore)) return isBlank(rest) ? { kind: 'statements' } : { kind: 'line', then };
  if (opensBlock(lineBefore, traits)) {
    return { kind: 'body', indent: indentWidth(lineBefore, style.tabSize) };
  }
  return { kind: 'line', then };
}

/** A longer line is data or minified code; to look for words in it costs more than it tells. */
const MAX_HEADER = 1000;

/** True when a block begins after this line. */
export function opensBlock(line: string, traits: LanguageTraits): boolean {
  const code = line.trimEnd();
  if (/[({[]$/.test(code)) return true;
  if (/=>$/.test(code)) return true;
  if (traits.colonBlocks && /[^:]:$/.test(code)) return true;
  return code.length <= MAX_HEADER && (traits.blockWords?.open.test(code) ?? false);
}
