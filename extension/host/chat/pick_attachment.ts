import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
import { number } from '../../protocol/numbers';
import {
  currentEditor,
  fileAttachment,
  problemsAttachment,
  selectionAttachment,
} from './attachments';
import { resourceAttachment } from './dropped';
import { terminalAttachment } from './terminal';

interface Choice extends vscode.QuickPickItem {
  /** Null when there is nothing of this kind; undefined when the user gave up. */
  readonly pick: () => Attachment | null | Promise<Attachment | null | undefined>;
}

/** What the paper clip offers. */
export async function pickAttachment(): Promise<Attachment | undefined> {
  const choice = await vscode.window.showQuickPick(choices(), {
    title: l10n.t('Attach to the question'),
  });
  const picked = await choice?.pick();
  if (picked === null) {
    void vscode.window.showInformationMessage(
      l10n.t('anllm: there is nothing of this kind to attach.'),
    );
  }
  return picked ?? undefined;
}

/** What there is to attach of the editor that was looked at last. */
function ofEditor(editor: vscode.TextEditor): Choice[] {
  const { document, selection } = editor;
  const name = vscode.workspace.asRelativePath(document.uri);
  const problems = vscode.languages.getDiagnostics(document.uri).length;
  const some: Choice = {
    label: `$(selection) ${l10n.t('The selection')}`,
    description: `${name}:${selection.start.line + 1}`,
    pick: () => selectionAttachment(editor),
  };
  const file: Choice = {
    label: `$(file-code) ${l10n.t('The open file')}`,
    description: name,
    pick: () => fileAttachment(document),
  };
  const wrong: Choice = {
    label: `$(warning) ${l10n.t('Problems of the open file')}`,
    description: number(problems),
    pick: () => problemsAttachment(document),
  };
  return [...(selection.isEmpty ? [] : [some]), file, ...(problems === 0 ? [] : [wrong])];
}

function choices(): Choice[] {
  const editor = currentEditor();
  const terminal = {
    label: `$(terminal) ${l10n.t('The selection of the terminal')}`,
    pick: terminalAttachment,
  };
  return [
    ...(editor ? ofEditor(editor) : []),
    ...(vscode.window.activeTerminal ? [terminal] : []),
    { label: `$(file) ${l10n.t('A file…')}`, pick: () => pickResource({ canSelectFiles: true }) },
    {
      label: `$(folder) ${l10n.t('A folder…')}`,
      detail: l10n.t('Its text files, without what programs make'),
      pick: () => pickResource({ canSelectFiles: false, canSelectFolders: true }),
    },
  ];
}

async function pickResource(options: vscode.OpenDialogOptions): Promise<Attachment | undefined> {
  const [uri] = (await vscode.window.showOpenDialog({ ...options, title: l10n.t('Attach') })) ?? [];
  return uri && resourceAttachment(uri);
}
