/** Files and folders by address, as the explorer or the chat page gives them. */
import { realpath } from 'node:fs/promises';
import { relative, isAbsolute } from 'node:path';
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
import { fileAttachment } from './attachments';
import { folderAttachment } from './folder';

/** What attachments go to. */
export interface Attaching {
  attach(attachment: Attachment): void;
}

/** A file or a folder with its files. Throws an Error that names what cannot be attached. */
export async function resourceAttachment(uri: vscode.Uri): Promise<Attachment> {
  const name = vscode.workspace.asRelativePath(uri, false);
  const isFolder = await vscode.workspace.fs.stat(uri).then(
    ({ type }) => (type & vscode.FileType.Directory) !== 0,
    () => false,
  );
  if (!isFolder) return fileAttachment(await openText(uri, name));
  const found = await folderAttachment(uri);
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

/** Attaches what can be, and throws an Error that names what cannot. */
export async function attachAll(uris: readonly vscode.Uri[], to: Attaching): Promise<void> {
  const problems: string[] = [];
  for (const uri of uris) {
    try {
      to.attach(await resourceAttachment(uri));
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (problems.length > 0) throw new Error(problems.join(' '));
}

async function openText(uri: vscode.Uri, name: string): Promise<vscode.TextDocument> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(
      l10n.t(
        '{name} cannot be attached: it is no text, too large, or not there any more. {problem}',
        {
          name,
          problem,
        },
      ),
      { cause: error },
    );
  }
}

/**
 * Attaches what was dropped on the page. The page shows what a model wrote, so it has no say about files elsewhere: an address
 * outside of the workspace, also one that a link leads to, is refused.
 */
export async function attachDropped(texts: readonly string[], to: Attaching): Promise<void> {
  const uris = texts.map((text) => here(vscode.Uri.parse(text, true)));
  for (const uri of uris) {
    if (!(await isInWorkspace(uri))) {
      throw new Error(
        l10n.t('{path} is not in the open folder: attach it with the paper clip instead.', {
          path: uri.path,
        }),
      );
    }
  }
  await attachAll(uris, to);
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
