import * as vscode from 'vscode';

/** A file that makes programs run is changed only after a question. */
export async function confirmSensitive(uri: vscode.Uri): Promise<boolean> {
  const change = 'Change it';
  const name = vscode.workspace.asRelativePath(uri);
  const choice = await vscode.window.showWarningMessage(
    `${name} can make programs run. Change it with code that a model wrote?`,
    { modal: true, detail: 'The change is shown before you save it.' },
    change,
  );
  return choice === change;
}
