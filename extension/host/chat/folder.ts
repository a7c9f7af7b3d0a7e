/** A folder as an attachment: its text files, one after the other. */
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
import { findTextFiles, readText } from './text_files';

/** More files than these are not counted, and not read. */
const MAX_COUNTED = 5000;
const MAX_FILES = 500;
/** About 60,000 tokens. */
const MAX_CHARS = 200_000;

export interface FolderAttachment {
  readonly attachment: Attachment;
  readonly files: number;
  /** Files that did not fit or are no text. */
  readonly left: number;
}

/** Null when there is no text in the folder. */
export async function folderAttachment(uri: vscode.Uri): Promise<FolderAttachment | null> {
  const found = await findTextFiles(uri, MAX_COUNTED);
  const paths = found.map((file) => ({ file, path: relative(uri, file) }));
  paths.sort((a, b) => a.path.split('/').length - b.path.split('/').length || compare(a, b));
  const parts: string[] = [];
  let chars = 0;
  for (const { file, path } of paths.slice(0, MAX_FILES)) {
    const text = await readText(file);
    if (text === null || chars + text.length > MAX_CHARS) continue;
    parts.push(`=== ${path}\n${text.replace(/\n?$/, '\n')}`);
    chars += text.length;
  }
  if (parts.length === 0) return null;
  const attachment: Attachment = {
    id: randomUUID(),
    kind: 'folder',
    path: vscode.workspace.asRelativePath(uri, false).replaceAll('\\', '/'),
    languageId: '',
    lines: null,
    text: parts.join('\n'),
  };
  return { attachment, files: parts.length, left: paths.length - parts.length };
}

function relative(folder: vscode.Uri, file: vscode.Uri): string {
  return file.path.slice(folder.path.replace(/\/$/, '').length + 1);
}

function compare(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}
