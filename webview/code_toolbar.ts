/** What can be done with code: above a block as controls, above code within a list as HTML. */
import * as l10n from '@vscode/l10n';
import { CODE_ACTIONS, type CodeAction } from '../extension/protocol/chat_view';
import { post } from './host';

export const codeActions = (): readonly { action: CodeAction; icon: string; label: string }[] => [
  { action: 'copy', icon: 'copy', label: l10n.t('Copy') },
  { action: 'insert', icon: 'insert', label: l10n.t('Insert at cursor') },
  { action: 'apply', icon: 'diff', label: l10n.t('Apply to the file, as a diff') },
  { action: 'newFile', icon: 'new-file', label: l10n.t('Put into a new file') },
];

export const codeActionsLabel = (): string => l10n.t('Code actions');

export function codeToolbar(): string {
  const bar = document.createElement('span');
  bar.className = 'actions';
  bar.setAttribute('role', 'group');
  bar.setAttribute('aria-label', codeActionsLabel());
  for (const { action, icon, label } of codeActions()) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'icon-button';
    button.title = label;
    button.setAttribute('aria-label', label);
    button.dataset['action'] = action;
    const image = document.createElement('span');
    image.className = `codicon codicon-${icon}`;
    image.setAttribute('aria-hidden', 'true');
    button.append(image);
    bar.append(button);
  }
  return bar.outerHTML;
}

/** @returns true when the event was on a button of `codeToolbar` */
export function actOnCode({ target }: Event): boolean {
  const button = target instanceof Element ? target.closest('button[data-action]') : null;
  const name = button?.getAttribute('data-action');
  const action = CODE_ACTIONS.find((known) => known === name);
  const figure = button?.closest('figure');
  if (!action || !figure) return false;
  const code = figure.querySelector('pre')?.textContent ?? '';
  const language = figure.dataset['language'] ?? '';
  post({ kind: 'code', action, code: code.replace(/\n$/, ''), language });
  return true;
}
