import * as vscode from 'vscode';
import { renderDecisions, type DecisionLog } from './completion/decisions';
import type { Disposable } from './lifecycle';

const SCHEME = 'anllm-why';
const URI = vscode.Uri.parse(`${SCHEME}:/Why no suggestion.md`);
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
  changed.fire(URI);
  const document = await vscode.workspace.openTextDocument(URI);
  await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preview: true,
  });
}
