/** Text of the editor as attachments. */
import { randomUUID } from 'node:crypto';
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';
import { number } from '../../protocol/numbers';
import type { ProblemPlace } from './problem_actions';
import { problemList } from './problem_list';

/** More characters than any context holds tokens. */
const MAX_CHARS = 2 ** 20;
/** Around a problem. */
const LINES_AROUND = 20;

export function selectionAttachment(editor: vscode.TextEditor): Attachment | null {
  return editor.selection.isEmpty ? null : rangeAttachment(editor.document, editor.selection);
}

export function rangeAttachment(document: vscode.TextDocument, range: vscode.Range): Attachment {
  // What ends before the first character of a line takes nothing of it.
  const isBefore = range.end.character === 0 && range.end.line > range.start.line;
  const lines = [range.start.line + 1, range.end.line + (isBefore ? 0 : 1)] as const;
  return attachment('selection', document, document.getText(range), lines);
}

export function fileAttachment(document: vscode.TextDocument): Attachment {
  return attachment('file', document, document.getText(), null);
}

/** The problems that the editor knows of in a file, with their lines; null when there is none. */
export function problemsAttachment(document: vscode.TextDocument): Attachment | null {
  const problems = vscode.languages.getDiagnostics(document.uri);
  if (problems.length === 0) return null;
  const all = problems.map(({ range, message, severity }) => ({
    line: range.start.line,
    message,
    severity,
  }));
  const text = problemList(all, document.getText().split(/\r?\n/));
  return { ...attachment('problem', document, text, null), languageId: 'text' };
}

/** The code around one problem. */
export async function codeAround({ uri, range }: ProblemPlace): Promise<Attachment> {
  const document = await vscode.workspace.openTextDocument(uri);
  const first = Math.max(0, range.start.line - LINES_AROUND);
  const last = Math.min(document.lineCount - 1, range.end.line + LINES_AROUND);
  return rangeAttachment(document, new vscode.Range(first, 0, last, Number.MAX_SAFE_INTEGER));
}

/** The editor that the user last looked at; a view that has the focus does not change it. */
export function currentEditor(): vscode.TextEditor | undefined {
  return vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
}

/** What a slash command is about when nothing is attached. */
export function automaticAttachment(): Attachment | null {
  const editor = currentEditor();
  return editor ? (selectionAttachment(editor) ?? fileAttachment(editor.document)) : null;
}

/** Throws an Error for more text than any model has room for. */
function attachment(
  kind: Attachment['kind'],
  document: vscode.TextDocument,
  text: string,
  lines: Attachment['lines'],
): Attachment {
  const path = vscode.workspace.asRelativePath(document.uri, false).replaceAll('\\', '/');
  if (text.length > MAX_CHARS) {
    throw new Error(
      l10n.t(
        '{path} has {count} characters, more than any model has room for: select a part of it.',
        {
          path,
          count: number(text.length),
        },
      ),
    );
  }
  return {
    id: randomUUID(),
    kind,
    path,
    languageId: document.languageId,
    lines,
    text: text.replaceAll('\r\n', '\n'),
  };
}
