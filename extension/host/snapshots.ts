import * as vscode from 'vscode';
import type { Disposable } from './lifecycle';

/** Scheme of documents that only exist to be one side of a diff. */
export const SNAPSHOT_SCHEME = 'anllm-snapshot';

/** Texts as read-only documents, for diffs: how a file was, or how it would be. Forgotten when they are closed. */
export class Snapshots implements Disposable, vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registrations: readonly vscode.Disposable[];
  private count = 0;

  readonly onDidChange = this.changed.event;

  constructor() {
    this.registrations = [
      vscode.workspace.registerTextDocumentContentProvider(SNAPSHOT_SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
      this.changed,
    ];
  }

  /** @returns its address, with the path of `like`, by which VS Code knows the language */
  add(like: vscode.Uri, text: string): vscode.Uri {
    const uri = like.with({ scheme: SNAPSHOT_SCHEME, query: String(++this.count) });
    this.texts.set(uri.toString(), text);
    return uri;
  }

  /** The document shows the other text at once. */
  set(uri: vscode.Uri, text: string): void {
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? '';
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }
}
