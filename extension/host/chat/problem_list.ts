/** Problems of a file as text. */

export interface Problem {
  /** Zero-based. */
  readonly line: number;
  readonly message: string;
  /** As in vscode.DiagnosticSeverity: 0 = error, 3 = hint. */
  readonly severity: number;
}

/** More are the same few, many times. */
const MAX_PROBLEMS = 200;
const KINDS = ['error', 'warning', 'information', 'hint'];

/** Errors first, each with its line of the file; a problem may be older than the lines. */
export function problemList(problems: readonly Problem[], lines: readonly string[]): string {
  const sorted = [...problems].sort((a, b) => a.severity - b.severity || a.line - b.line);
  const shown = sorted.slice(0, MAX_PROBLEMS).map(({ line, message, severity }) => {
    const code = lines[line]?.trim() ?? '';
    const what = `line ${line + 1}: ${KINDS[severity] ?? 'problem'}: ${message}`;
    return code === '' ? what : `${what}\n    ${code}`;
  });
  const left = sorted.length - shown.length;
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join('\n');
}
