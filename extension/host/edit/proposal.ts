import * as l10n from '@vscode/l10n';
import type * as vscode from 'vscode';
import type { Snapshots } from '../snapshots';
import { showDiff } from './diff_tab';
import { unfinished } from './lines';
import type { Passage } from './passage';

/** A diff with every token would flicker, and the line table would be made for nothing. */
const SHOW_MS = 80;

/** The file as it would be, shown beside the file while the model writes. */
export class Proposal {
  readonly uri: vscode.Uri;
  private readonly old: readonly string[];
  private code: string | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly passage: Passage,
    private readonly snapshots: Snapshots,
  ) {
    const { document, text } = passage;
    this.uri = snapshots.add(document.uri, document.getText());
    this.old = text.split('\n');
  }

  async show(): Promise<void> {
    const { document, firstLine } = this.passage;
    const name = document.uri.path.split('/').at(-1) ?? '';
    await showDiff(
      document.uri,
      this.uri,
      l10n.t('{name} ↔ edit that is written', { name }),
      firstLine,
    );
  }

  /** More lines are there. */
  grow(code: string): void {
    this.code = code;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      const lines = unfinished(this.old, (this.code ?? '').split('\n'));
      this.snapshots.set(this.uri, this.passage.whole(lines.join('\n')));
    }, SHOW_MS);
  }

  /** Nothing more comes. */
  settle(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  finish(code: string): void {
    this.snapshots.set(this.uri, this.passage.whole(code));
  }
}
