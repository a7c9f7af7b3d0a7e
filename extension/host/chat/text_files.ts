/** Reading the user's files as text: what is too large or no text is left out. */
import * as vscode from 'vscode';

/** A single file of this size is data, not code. */
const MAX_BYTES = 100_000;
/** What is made by programs, on top of what the user's settings exclude. */
const GENERATED = '**/{node_modules,.git,.hg,.svn,dist,build,out,target,.venv,__pycache__}/**';

/** Files of the workspace or of a folder of it, at most `limit`. */
export async function findTextFiles(
  folder: vscode.Uri | null,
  limit: number,
  token?: vscode.CancellationToken,
): Promise<vscode.Uri[]> {
  const pattern = folder ? new vscode.RelativePattern(folder, '**/*') : '**/*';
  return vscode.workspace.findFiles(pattern, GENERATED, limit, token);
}

/** As the editor has it, saved or not, with '\n' as line ends; null for what is too large or no text. */
export async function readText(uri: vscode.Uri): Promise<string | null> {
  const address = uri.toString();
  const unsaved = vscode.workspace.textDocuments.find(
    (document) => document.isDirty && document.uri.toString() === address,
  );
  if (unsaved) return unsaved.getText().replaceAll('\r\n', '\n');
  try {
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size > MAX_BYTES) return null;
    const bytes = await vscode.workspace.fs.readFile(uri);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text.replaceAll('\r\n', '\n');
  } catch {
    return null;
  }
}
