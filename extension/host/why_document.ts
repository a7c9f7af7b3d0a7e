import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { renderDecisions, type DecisionLog } from './completion/decisions';
import type { Disposable } from './lifecycle';
import { Page } from './page';

const page = new Page('anllm-why');

/** Serves the log of decisions as a read-only document. */
export function registerWhyDocument(decisions: DecisionLog): Disposable {
  return page.serve(() => renderDecisions(decisions.all));
}

/** Opens the document beside the editor, with what is known now. */
export function showWhy(): Promise<void> {
  const name = l10n.t({
    message: 'Why no suggestion',
    comment: 'the name of a document, without /',
  });
  return page.show(name, vscode.ViewColumn.Beside);
}
