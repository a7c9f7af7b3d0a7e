import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

/** Writes other text into a range, as one step to undo. Throws where nothing can be written. */
export async function replaceText(
  document: vscode.TextDocument,
  range: vscode.Range,
  text: string,
): Promise<void> {
  const change = new vscode.WorkspaceEdit();
  change.replace(document.uri, document.validateRange(range), text);
  if (!(await vscode.workspace.applyEdit(change)))
    throw new Error(l10n.t('the file is read-only.'));
}
