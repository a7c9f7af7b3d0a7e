import { indentText, indentWidth } from './indent';
import { scanLine, type Opener, type ScanState } from './scanner';
import { bodyBelow, type Surroundings } from './surroundings';

/**
 * The lines with everything closed that they opened, unless the text below the cursor closes it. Brackets opened in
 * the last line are closed in it, others each on a line at their opener's indentation. What the last line opens stays
 * open when its inside stands below.
 */
export function closeOpened(lines: readonly string[], around: Surroundings): string[] {
  const { traits, style, lineBefore } = around;
  const rows: number[] = [];
  let state: ScanState = { stack: [], inside: around.inside };
  let quote = '';
  lines.forEach((line, row) => {
    const full = row === 0 ? lineBefore + line : line;
    const scan = scanLine(line, state, traits, indentWidth(full, style.tabSize));
    state = scan.state;
    rows.length = Math.min(rows.length, state.stack.length);
    while (rows.length < state.stack.length) rows.push(row);
    const open = row === lines.length - 1 && scan.inside?.kind === 'string' && !scan.inside.outer;
    quote = open && scan.inside ? scan.inside.end : '';
  });

  const result = [...lines];
  result[result.length - 1] = (result.at(-1) ?? '') + quote;
  let group = lines.length - 1;
  if (rows.at(-1) === group && bodyBelow(around, state.stack.at(-1)?.indent ?? 0)) return result;
  for (let i = state.stack.length - 1; i >= 0; i--) {
    const opener = state.stack[i];
    const row = rows[i];
    if (opener === undefined || row === undefined) continue;
    if (closedBelow(around.spare, opener)) break;
    if (row === group) result[result.length - 1] += opener.closer;
    else result.push(indentText(opener.indent, style) + opener.closer);
    group = row;
  }
  return result;
}

/** True when a closer below, without a partner above, serves this opener and all that enclose it. */
function closedBelow(spare: readonly Opener[], opener: Opener): boolean {
  return spare.some(({ closer, indent }) => closer === opener.closer && indent === opener.indent);
}
