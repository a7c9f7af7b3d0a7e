/** Files and folders by address, as the explorer or the chat page gives them. */
import { realpath } from 'node:fs/promises';
import { relative, isAbsolute } from 'node:path';
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
import { fileAttachment } from './attachments';
import { folderAttachment } from './folder';

/** A file or a folder with its files. Throws an Error that names what cannot be attached. */
export async function resourceAttachment(uri: vscode.Uri): Promise<Attachment> {
  const { type } = await vscode.workspace.fs.stat(uri);
  if ((type & vscode.FileType.Directory) === 0) {
    return fileAttachment(await vscode.workspace.openTextDocument(uri));
  }
  const found = await folderAttachment(uri);
  const name = vscode.workspace.asRelativePath(uri, false);
  if (!found) throw new Error(l10n.t('{name} has no text files that could be attached.', { name }));
  if (found.left > 0) {
    void vscode.window.showInformationMessage(
      l10n.t('anllm: files of {name}: {files} attached, {left} not: too much, or no text.', {
        files: found.files,
        name,
        left: found.left,
      }),
    );
  }
  return found.attachment;
}

/**
 * What was dropped on the page. The page shows what a model wrote, so it has no say about files elsewhere: an address
 * outside of the workspace, also one that a link leads to, is refused.
 */
export async function droppedAttachments(uris: readonly string[]): Promise<Attachment[]> {
  const attachments: Attachment[] = [];
  for (const text of uris) {
    const uri = here(vscode.Uri.parse(text, true));
    if (!(await isInWorkspace(uri))) {
      throw new Error(
        l10n.t('{path} is not in the open folder: attach it with the paper clip instead.', {
          path: uri.path,
        }),
      );
    }
    attachments.push(await resourceAttachment(uri));
  }
  return attachments;
}

/** The page runs in the window and knows a remote file by its remote address; here it is a file. */
function here(uri: vscode.Uri): vscode.Uri {
  const isRemote = uri.scheme === 'vscode-remote' && vscode.env.remoteName !== undefined;
  return isRemote ? uri.with({ scheme: 'file', authority: '' }) : uri;
}

async function isInWorkspace(uri: vscode.Uri): Promise<boolean> {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (!folder || uri.authority !== folder.uri.authority) return false;
  if (uri.scheme !== 'file') return true;
  const [root, file] = await Promise.all([realpath(folder.uri.fsPath), realpath(uri.fsPath)]);
  const path = relative(root, file);
  return path !== '..' && !/^\.\.[\\/]/.test(path) && !isAbsolute(path);
}
