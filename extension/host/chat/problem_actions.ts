/** The light bulb on a problem: explain or fix it in the chat. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import type { Disposable } from '../lifecycle';
import { chatModelOf } from '../settings';

/** What the commands of the light bulb are given. */
export interface ProblemPlace {
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
  readonly message: string;
}

const actions = () => [
  { command: 'anllm.chat.fixProblem', title: l10n.t('Fix with anllm') },
  { command: 'anllm.chat.explainProblem', title: l10n.t('Explain with anllm') },
];

export function registerProblemActions(configuration: Configuration): Disposable {
  return vscode.languages.registerCodeActionsProvider(
    [{ scheme: 'file' }, { scheme: 'untitled' }, { scheme: 'vscode-remote' }],
    {
      provideCodeActions: (document, _range, { diagnostics }) => {
        const [problem] = diagnostics;
        if (!problem || chatModelOf(configuration.current.engine) === '') return [];
        const { range, message } = problem;
        const place: ProblemPlace = { uri: document.uri, range, message };
        return actions().map(({ command, title }) => {
          const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
          action.command = { command, title, arguments: [place] };
          action.diagnostics = [problem];
          return action;
        });
      },
    },
    { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] },
  );
}

export function isProblemPlace(value: unknown): value is ProblemPlace {
  if (typeof value !== 'object' || value === null) return false;
  const { uri, range, message } = value as Partial<Record<keyof ProblemPlace, unknown>>;
  return uri instanceof vscode.Uri && range instanceof vscode.Range && typeof message === 'string';
}
