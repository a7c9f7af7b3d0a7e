/** Leading blanks of a line. */
export function leadingBlanks(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

export function isBlank(line: string): boolean {
  return line.trim() === '';
}

/** Columns of the leading blanks; a tab goes to the next multiple of `tabSize`. */
export function indentWidth(line: string, tabSize: number): number {
  let width = 0;
  for (const char of line) {
    if (char === ' ') width++;
    else if (char === '\t') width += tabSize - (width % tabSize);
    else break;
  }
  return width;
}

export interface IndentStyle {
  readonly tabSize: number;
  readonly insertSpaces: boolean;
}

/** Blanks that reach column `width` in the editor's style. */
export function indentText(width: number, style: IndentStyle): string {
  if (style.insertSpaces) return ' '.repeat(width);
  return '\t'.repeat(Math.floor(width / style.tabSize)) + ' '.repeat(width % style.tabSize);
}

/** The line with its leading blanks in the editor's style. */
export function restyleIndent(line: string, style: IndentStyle): string {
  const blanks = leadingBlanks(line);
  const foreign = style.insertSpaces
    ? blanks.includes('\t')
    : blanks.includes(' '.repeat(style.tabSize));
  if (!foreign) return line;
  return indentText(indentWidth(line, style.tabSize), style) + line.slice(blanks.length);
}
