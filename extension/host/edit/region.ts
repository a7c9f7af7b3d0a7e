/** The lines that an inline edit is about. */
import * as vscode from 'vscode';
import { documentSymbols } from '../document_symbols';

const FUNCTIONS = new Set([
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Method,
  vscode.SymbolKind.Constructor,
]);

/** Whole lines with their line ends: those of the selection, else of the function around the cursor, else the cursor's. */
export async function editRegion({
  document,
  selection,
}: vscode.TextEditor): Promise<vscode.Range> {
  if (!selection.isEmpty) {
    const endsAtStart = selection.end.character === 0 && selection.end.line > selection.start.line;
    return wholeLines(document, selection.start.line, selection.end.line - +endsAtStart);
  }
  const { line } = selection.active;
  // A blank line is a place for new code, inside a function or not.
  if (document.lineAt(line).isEmptyOrWhitespace) return wholeLines(document, line, line);
  const around = await functionAround(document, selection.active);
  return around
    ? wholeLines(document, around.start.line, around.end.line)
    : wholeLines(document, line, line);
}

function wholeLines(document: vscode.TextDocument, first: number, last: number): vscode.Range {
  return document.validateRange(new vscode.Range(first, 0, last + 1, 0));
}

/** The smallest function that holds the position; languages without symbols have none. */
async function functionAround(
  document: vscode.TextDocument,
  position: vscode.Position,
): Promise<vscode.Range | undefined> {
  const symbols = await documentSymbols(document.uri);
  const around = symbols.filter(
    ({ kind, range }) => FUNCTIONS.has(kind) && range.contains(position),
  );
  return around.at(-1)?.range;
}
