import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { renderDecisions, type DecisionLog } from './completion/decisions';
import type { Disposable } from './lifecycle';

const SCHEME = 'anllm-why';
const changed = new vscode.EventEmitter<vscode.Uri>();

/** Serves the log of decisions as a read-only document. */
export function registerWhyDocument(decisions: DecisionLog): Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    provideTextDocumentContent: () => renderDecisions(decisions.all),
  });
}

/** Opens the document beside the editor, with what is known now. */
export async function showWhy(): Promise<void> {
  const name = l10n.t({
    message: 'Why no suggestion',
    comment: 'the name of a document, without /',
  });
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}.md` });
  changed.fire(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preview: true,
  });
}
