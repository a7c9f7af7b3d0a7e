import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

/** A file that makes programs run is changed only after a question. */
export async function confirmSensitive(uri: vscode.Uri): Promise<boolean> {
  const change = l10n.t('Change it');
  const name = vscode.workspace.asRelativePath(uri);
  const choice = await vscode.window.showWarningMessage(
    l10n.t('{name} can make programs run. Change it with code that a model wrote?', { name }),
    { modal: true, detail: l10n.t('The change is shown before you save it.') },
    change,
  );
  return choice === change;
}
