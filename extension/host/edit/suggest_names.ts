import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { askOnce } from '../chat/ask_once';
import { fenced } from '../chat/prompt';
import type { Host } from '../host';
import { namesOf } from './name_answer';

/** Lines around the name that the model sees. */
const LINES_AROUND = 30;
const MAX_TOKENS = 120;
const INSTRUCTIONS =
  'You find better names for identifiers. Answer with five names, one a line, the best first, in the naming style of ' +
  'the code, and nothing else.';

/** Offers names for what stands at the cursor, and has the language's own rename change all its uses. */
export async function suggestNames({ engine }: Host): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const range = editor?.document.getWordRangeAtPosition(editor.selection.active);
  if (!editor || !range) throw new Error(l10n.t('put the cursor on a name first.'));
  const { document } = editor;
  const name = document.getText(range);
  const names = await ask(engine, document, range, name);
  if (names === null) return;
  if (names.length === 0)
    throw new Error(l10n.t('the model found no other name for {name}.', { name }));
  const chosen = await vscode.window.showQuickPick(names, {
    title: l10n.t('Rename {name} to', { name }),
  });
  if (chosen === undefined) return;
  if (document.getText(range) !== name)
    throw new Error(l10n.t('{name} is not there any more: ask again.', { name }));
  const change = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>(
    'vscode.executeDocumentRenameProvider',
    document.uri,
    range.start,
    chosen,
  );
  if (!change || change.size === 0) {
    throw new Error(
      l10n.t('{language} has no extension that can rename {name}.', {
        language: document.languageId,
        name,
      }),
    );
  }
  if (!(await vscode.workspace.applyEdit(change)))
    throw new Error(
      l10n.t('{name} could not be renamed: a file is read-only, or changed meanwhile.', { name }),
    );
}

/** Null when the user gave up. */
async function ask(
  engine: Host['engine'],
  document: vscode.TextDocument,
  range: vscode.Range,
  name: string,
): Promise<string[] | null> {
  const first = Math.max(0, range.start.line - LINES_AROUND);
  const around = new vscode.Range(first, 0, range.start.line + LINES_AROUND, 0);
  const code = fenced(document.getText(document.validateRange(around)), document.languageId);
  const { text, finish } = await askOnce(engine, {
    title: l10n.t('anllm: looking for names for {name}', { name }),
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      {
        role: 'user',
        content: `${code}\n\nFive better names for \`${name}\` in line ${range.start.line - first + 1}:`,
      },
    ],
    temperature: 0.3,
    maxTokens: MAX_TOKENS,
    controller: new AbortController(),
  });
  return finish === 'cancelled' ? null : namesOf(text, name);
}
