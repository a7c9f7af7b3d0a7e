import * as vscode from 'vscode';

/** Writes other text into a range, as one step to undo. Throws where nothing can be written. */
export async function replaceText(
  document: vscode.TextDocument,
  range: vscode.Range,
  text: string,
): Promise<void> {
  const change = new vscode.WorkspaceEdit();
  change.replace(document.uri, document.validateRange(range), text);
  if (!(await vscode.workspace.applyEdit(change))) throw new Error('the file is read-only.');
}
