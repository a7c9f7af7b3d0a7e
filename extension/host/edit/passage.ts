import * as vscode from 'vscode';
import type { Disposable } from '../lifecycle';
import type { EditPlace } from './prompt';
import { replaceText } from './replace_text';
import { shifted, type Span } from './tracked';

/** Whole lines of a document as they were; knows where they are, and whether they changed, while it goes on changing. */
export class Passage implements Disposable {
  /** With '\n' as line ends, without the last one. */
  readonly text: string;
  private readonly original: string;
  private span: Span | null;
  private readonly subscription: vscode.Disposable;

  constructor(
    readonly document: vscode.TextDocument,
    range: vscode.Range,
  ) {
    this.original = document.getText(range);
    this.text = this.original.replaceAll('\r\n', '\n').replace(/\n$/, '');
    this.span = { start: document.offsetAt(range.start), end: document.offsetAt(range.end) };
    this.subscription = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document !== document) return;
      for (const change of event.contentChanges) this.span &&= shifted(this.span, change, false);
    });
  }

  /** False when the lines themselves changed, or the document is gone. */
  get isUntouched(): boolean {
    return this.span !== null && !this.document.isClosed && this.slice() === this.original;
  }

  /** One-based. */
  get firstLine(): number {
    return this.document.positionAt(this.span?.start ?? 0).line + 1;
  }

  /** One-based. */
  get lastLine(): number {
    return this.firstLine + this.text.split('\n').length - 1;
  }

  isSameAs(code: string): boolean {
    return code === this.text;
  }

  place(): EditPlace {
    const { document, span, text } = this;
    const all = document.getText();
    return {
      path: vscode.workspace.asRelativePath(document.uri, false).replaceAll('\\', '/'),
      languageId: document.languageId,
      before: all.slice(0, span?.start ?? 0).replaceAll('\r\n', '\n'),
      code: text,
      after: all.slice(span?.end ?? 0).replaceAll('\r\n', '\n'),
    };
  }

  /** The document's text with other lines here. */
  whole(code: string): string {
    const { start, end } = this.span ?? { start: 0, end: 0 };
    const all = this.document.getText();
    return all.slice(0, start) + this.written(code) + all.slice(end);
  }

  /** Writes other lines here, as one step to undo. @returns where they are */
  async replace(code: string): Promise<Span> {
    const { document } = this;
    const { start, end } = this.span ?? { start: 0, end: 0 };
    const text = this.written(code);
    const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
    await replaceText(document, range, text);
    return { start, end: start + text.length };
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** Lines with the ends that the document has. */
  private written(code: string): string {
    const eol = this.document.eol === vscode.EndOfLine.CRLF ? '\r\n' : '\n';
    const text = code.replaceAll('\r\n', '\n').replaceAll('\n', eol);
    return /\n$/.test(this.original) ? text + eol : text;
  }

  private slice(): string {
    return this.document.getText().slice(this.span?.start, this.span?.end);
  }
}
