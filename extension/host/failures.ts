import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { SupervisedStatus } from './engine/supervisor';
import type { Host } from './host';
import type { Disposable } from './lifecycle';

/** Says once what keeps the engine from working; the status bar goes on saying it. */
export function reportFailures({ engine, log }: Host): Disposable {
  let told = '';
  return engine.onStatus((status) => {
    const problem = problemOf(status);
    if (problem === null || problem === told) return;
    told = problem;
    const settings = l10n.t('Open Settings');
    const showLog = l10n.t('Show Log');
    void vscode.window.showErrorMessage(`anllm: ${problem}`, settings, showLog).then((choice) => {
      if (choice === showLog) log.show();
      if (choice === settings) {
        void vscode.commands.executeCommand('workbench.action.openSettings', 'anllm.engine');
      }
    });
  });
}

/** A first crash is no problem yet: the next completion starts the engine again. */
function problemOf(status: SupervisedStatus): string | null {
  if (status.state === 'failed') return status.message;
  return status.state === 'crashed' && status.waitMs > 0 ? status.message : null;
}
