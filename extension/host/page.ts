import * as vscode from 'vscode';
import type { Disposable } from './lifecycle';

/** A text that the extension writes, shown as a read-only document of a scheme of its own. */
export class Page {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();

  constructor(private readonly scheme: string) {}

  /** Answers with `text` as it is when the document is opened or shown again. */
  serve(text: () => string | Promise<string>): Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(this.scheme, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: text,
    });
  }

  /** Opens it with what is known now. `name`: of the document, without / and ending. */
  async show(name: string, column = vscode.ViewColumn.Active): Promise<void> {
    const uri = vscode.Uri.from({ scheme: this.scheme, path: `/${name}.md` });
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { viewColumn: column, preview: true });
  }
}
