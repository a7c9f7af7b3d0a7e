/** The code in an answer that may still grow. */
import { indentOf, isBlank } from '../chat/items';

const FENCE = /^[ \t]*(`{3,}|~{3,})[^\n`]*\n/m;

/**
 * What stands in the first fenced block. An answer without one is code itself once it is whole: models that obey "the
 * code alone" to the letter leave the fence out. Null while there is nothing to show.
 */
export function codeOf(answer: string, isWhole: boolean): string | null {
  const opening = FENCE.exec(answer);
  if (!opening) {
    const text = answer.replace(/^\n+|\s+$/g, '');
    return isWhole && text !== '' ? text : null;
  }
  const body = answer.slice(opening.index + opening[0].length);
  const [, fence = '```'] = opening;
  const end = closingAt(body, fence);
  if (end >= 0) return body.slice(0, end).replace(/\n$/, '');
  return isWhole ? body.trimEnd() : wholeLines(body);
}

/** Where the block ends, or -1. In Markdown, models put blocks with a language into a block with the same fence. */
function closingAt(body: string, fence: string): number {
  let depth = 0;
  for (const { 1: run, 2: info = '', index } of body.matchAll(/^[ \t]*(`{3,}|~{3,})(.*)$/gm)) {
    if (run !== fence) continue;
    if (/^\s*[\w+#.-]/.test(info)) depth++;
    else if (info.trim() === '' && depth-- === 0) return index;
  }
  return -1;
}

/** A line is shown when it ends: half a line, or half a closing fence, would be a change that is none. */
function wholeLines(text: string): string | null {
  const end = text.lastIndexOf('\n');
  return end < 0 ? null : text.slice(0, end);
}

/** Gives code that lost the indentation of its place the indentation back. */
export function indentLike(code: string, old: string): string {
  const lines = code.split('\n');
  const wanted = indentOf(firstLine(old.split('\n')) || old);
  const own = indentOf(firstLine(lines));
  if (own === wanted || !wanted.startsWith(own)) return code;
  const missing = wanted.slice(own.length);
  return lines.map((line) => (isBlank(line) ? line : missing + line)).join('\n');
}

const firstLine = (lines: readonly string[]): string => lines.find((line) => !isBlank(line)) ?? '';
