import * as vscode from 'vscode';
import { cellsAbove, textAround, type SelectedItem, type Snapshot } from './snapshot';

/** File name endings that tell a model the language of what is no file yet, or a notebook's cell. */
const ENDINGS: Readonly<Record<string, string>> = {
  c: '.c',
  cpp: '.cpp',
  csharp: '.cs',
  css: '.css',
  go: '.go',
  html: '.html',
  java: '.java',
  javascript: '.js',
  json: '.json',
  julia: '.jl',
  markdown: '.md',
  php: '.php',
  plaintext: '.txt',
  python: '.py',
  r: '.r',
  ruby: '.rb',
  rust: '.rs',
  shellscript: '.sh',
  sql: '.sql',
  swift: '.swift',
  typescript: '.ts',
  typescriptreact: '.tsx',
  yaml: '.yaml',
};

/** Reads what a completion needs from a document; the buffer, never the disk. */
export function takeSnapshot(
  document: vscode.TextDocument,
  position: vscode.Position,
  selected: SelectedItem | null,
): Snapshot {
  const { line, character } = position;
  const eol = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
  const view = {
    lineCount: document.lineCount,
    line: (index: number) => document.lineAt(index).text,
  };
  const around = textAround(view, { line, character }, selected, eol);
  const options = editorOf(document)?.options;
  const { tabSize, insertSpaces } = options ?? {};
  return {
    uri: document.uri.toString(),
    path: pathOf(document),
    languageId: document.languageId,
    ...around,
    prefix: notebookPrefix(document, eol) + around.prefix,
    eol,
    tabSize: typeof tabSize === 'number' ? tabSize : 4,
    insertSpaces: typeof insertSpaces === 'boolean' ? insertSpaces : true,
    cursor: { line, character },
    selected,
  };
}

export function editorOf(document: vscode.TextDocument): vscode.TextEditor | undefined {
  const active = vscode.window.activeTextEditor;
  if (active?.document === document) return active;
  return vscode.window.visibleTextEditors.find((editor) => editor.document === document);
}

/** Relative to the workspace. Models write better when they are told a file's name, so that there always is one. */
function pathOf(document: vscode.TextDocument): string {
  const path = vscode.workspace.asRelativePath(document.uri, false).replaceAll('\\', '/');
  const isFile = !document.isUntitled && document.uri.scheme !== 'vscode-notebook-cell';
  return isFile ? path : path.replace(/\.ipynb$/, '') + (ENDINGS[document.languageId] ?? '');
}

function notebookPrefix(document: vscode.TextDocument, eol: string): string {
  if (document.uri.scheme !== 'vscode-notebook-cell') return '';
  for (const notebook of vscode.workspace.notebookDocuments) {
    const cells = notebook.getCells();
    const index = cells.findIndex((cell) => cell.document === document);
    if (index < 0) continue;
    const above = cells
      .slice(0, index)
      .filter((cell) => cell.document.languageId === document.languageId)
      .map((cell) => cell.document.getText().replaceAll(/\r?\n/g, eol));
    return cellsAbove(above, eol);
  }
  return '';
}
