import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
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

function choices(): Choice[] {
  const editor = currentEditor();
  const ofEditor: Choice[] = editor
    ? [
        {
          label: `$(selection) ${l10n.t('The selection')}`,
          pick: () => selectionAttachment(editor),
        },
        {
          label: `$(file-code) ${l10n.t('The open file')}`,
          pick: () => fileAttachment(editor.document),
        },
        {
          label: `$(warning) ${l10n.t('Problems of the open file')}`,
          pick: () => problemsAttachment(editor.document),
        },
      ]
    : [];
  const terminal = {
    label: `$(terminal) ${l10n.t('The selection of the terminal')}`,
    pick: terminalAttachment,
  };
  return [
    ...ofEditor,
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
