import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { DisposableStore } from '../lifecycle';
import { closeDiff, diffsOf } from './diff_tab';
import { hunks } from './lines';
import { replaceText } from './replace_text';
import { shifted, type Span } from './tracked';

export interface ReviewedEdit {
  readonly document: vscode.TextDocument;
  /** The whole document before the edit. */
  readonly before: string;
  /** The lines that were rewritten, with '\n' and without the last line end. */
  readonly old: string;
  /** Where the new ones are. */
  readonly span: Span;
  /** The left side of the diff. */
  readonly left: vscode.Uri;
}

/** An edit that stands in the file and waits for the user's word. It is over when its diff is closed or all of it is undone. */
export class Review {
  private readonly store = new DisposableStore();
  private span: Span | null;

  constructor(
    private readonly edit: ReviewedEdit,
    private readonly onEnd: () => void,
  ) {
    this.span = edit.span;
    this.store.add(
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (document !== edit.document || contentChanges.length === 0) return;
        for (const change of contentChanges) this.span &&= shifted(this.span, change, true);
        if (document.getText() === edit.before) void this.finish();
      }),
    );
    this.store.add(
      vscode.window.tabGroups.onDidChangeTabs(() => diffsOf(edit.left).length === 0 && this.keep()),
    );
  }

  /** For the context keys. */
  get path(): string {
    return this.edit.document.uri.fsPath;
  }

  /** The change stays; nothing on the screen moves. */
  keep(): void {
    this.store.dispose();
    this.onEnd();
  }

  /** The change stays and the diff is closed. */
  async finish(): Promise<void> {
    this.keep();
    await closeDiff(this.edit.left, this.edit.document);
  }

  /** Puts the old lines back, as one step to undo. */
  async discard(): Promise<void> {
    const { document, old } = this.edit;
    if (!this.span) {
      throw new Error(
        l10n.t(
          'the lines of the edit and those around them were changed together, so it cannot be taken back alone: use Undo, or the arrows of the diff.',
        ),
      );
    }
    const range = rangeOf(document, this.span);
    const eol = document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
    const end = /\n$/.test(document.getText(range)) ? eol : '';
    await replaceText(document, range, old.replaceAll('\n', eol) + end);
    await this.finish();
  }

  /** Puts back what stood where the cursor is, as one step to undo. */
  async discardPart(): Promise<void> {
    const { document, before } = this.edit;
    const editor = vscode.window.visibleTextEditors.find((shown) => shown.document === document);
    const line = editor?.selection.active.line ?? -1;
    const [old, now] = [linesOf(before), linesOf(document.getText())];
    const hunk = hunks(old, now).find(({ newStart, newEnd }) => {
      return line >= newStart && line < Math.max(newEnd, newStart + 1);
    });
    if (!hunk) throw new Error(l10n.t('put the cursor into a changed part of the diff first.'));
    const range = new vscode.Range(hunk.newStart, 0, hunk.newEnd, 0);
    await replaceText(document, range, old.slice(hunk.start, hunk.end).join(''));
  }
}

/** Lines with their line ends. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function rangeOf(document: vscode.TextDocument, { start, end }: Span): vscode.Range {
  return new vscode.Range(document.positionAt(start), document.positionAt(end));
}
