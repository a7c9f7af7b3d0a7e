/** What the buttons of a code block do. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { CodeAction } from '../../protocol/chat_view';
import { showDiff } from '../edit/diff_tab';
import { replaceText } from '../edit/replace_text';
import type { Snapshots } from '../snapshots';
import { isSensitive, planApply } from './apply';
import { currentEditor } from './attachments';
import { confirmSensitive } from './sensitive';

/** Highlighting names of models and their readers that are no language ids of VS Code. */
const LANGUAGE_IDS: Readonly<Record<string, string>> = {
  ts: 'typescript',
  tsx: 'typescriptreact',
  js: 'javascript',
  jsx: 'javascriptreact',
  py: 'python',
  rs: 'rust',
  rb: 'ruby',
  sh: 'shellscript',
  bash: 'shellscript',
  cs: 'csharp',
  'c++': 'cpp',
  md: 'markdown',
  yml: 'yaml',
};

export class CodeActions {
  constructor(private readonly snapshots: Snapshots) {}

  async run(action: CodeAction, code: string, language: string): Promise<void> {
    switch (action) {
      case 'copy':
        await vscode.env.clipboard.writeText(code);
        vscode.window.setStatusBarMessage(l10n.t('anllm: copied'), 2000);
        return;
      case 'newFile':
        return newFile(code, language);
      case 'insert':
        return insert(code);
      case 'apply':
        return this.apply(code);
    }
  }

  /** Changes the open document, unsaved and as one step to undo, and shows what changed. */
  private async apply(code: string): Promise<void> {
    const editor = await editorToChange();
    if (!editor) return;
    const { document, selection } = editor;
    const old = document.getText();
    const plan = planApply(old, code, {
      start: document.offsetAt(selection.start),
      end: document.offsetAt(selection.end),
    });
    if (old.slice(plan.start, plan.end) === plan.text) {
      void vscode.window.showInformationMessage(l10n.t('anllm: the file has this code already.'));
      return;
    }
    const range = new vscode.Range(document.positionAt(plan.start), document.positionAt(plan.end));
    await replaceText(document, range, plan.text);
    const left = this.snapshots.add(document.uri, old);
    const name = document.uri.path.split('/').at(-1) ?? '';
    const title = l10n.t('{name} (before ↔ with the answer’s code)', { name });
    await showDiff(left, document.uri, title, range.start.line + 1);
  }
}

async function newFile(code: string, language: string): Promise<void> {
  const id = LANGUAGE_IDS[language] ?? language;
  const known = await vscode.languages.getLanguages();
  const document = await vscode.workspace.openTextDocument({
    content: `${code}\n`,
    ...(known.includes(id) ? { language: id } : {}),
  });
  await vscode.window.showTextDocument(document);
}

async function insert(code: string): Promise<void> {
  const editor = await editorToChange();
  if (!editor) return;
  if (!(await editor.edit((builder) => builder.replace(editor.selection, code))))
    throw new Error(l10n.t('the file is read-only.'));
  await vscode.window.showTextDocument(editor.document, editor.viewColumn);
}

/** Null when the file makes programs run and the user does not want it changed. */
async function editorToChange(): Promise<vscode.TextEditor | null> {
  const editor = currentEditor();
  if (!editor) throw new Error(l10n.t('open the file that the code belongs to first.'));
  const { uri } = editor.document;
  return !isSensitive(uri.path) || (await confirmSensitive(uri)) ? editor : null;
}
