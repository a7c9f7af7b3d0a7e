import { basename } from 'node:path';
import type { Page } from 'playwright-core';
import { Editor } from './editor';
import { until } from '../../until';

/** Where the cursor goes: one-based, as the status bar shows it. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The window of VS Code, used as a person uses it. */
export class Workbench {
  readonly editor: Editor;

  constructor(readonly page: Page) {
    this.editor = new Editor(page);
  }

  async waitUntilLoaded(): Promise<void> {
    await this.page.waitForSelector('.monaco-workbench .explorer-folders-view .monaco-list');
  }

  /** Runs a command by its title from the command palette. */
  async runCommand(title: string): Promise<void> {
    await this.choose('F1', `>${title}`, title);
  }

  /** Opens a file by its absolute path, which needs no search index, with the cursor at a place. */
  async openFile(path: string, { line, column }: Position): Promise<void> {
    const name = basename(path);
    await this.choose('Control+P', `${path}:${line}:${column}`, name);
    await this.page.waitForSelector(`.tab.active[data-resource-name="${name}"]`);
    await this.waitForCursor({ line, column });
  }

  /** Puts the cursor of the focused editor at the start of a line. */
  async goToLine(line: number): Promise<void> {
    const label = `Press 'Enter' to go to line ${line} at column 1.`;
    await this.choose('Control+G', `:${line}:1`, label);
    await this.waitForCursor({ line, column: 1 });
  }

  async newUntitledFile(): Promise<void> {
    await this.runCommand('File: New Untitled Text File');
    await this.page.waitForSelector('.tab.active[data-resource-name^="Untitled-"]');
    await this.waitForCursor({ line: 1, column: 1 });
  }

  async save(): Promise<void> {
    await this.page.keyboard.press('Control+S');
    await this.page.waitForSelector('.tab.active:not(.dirty)');
  }

  /** Reverts and closes every editor, whatever state the last test left. */
  async closeEditors(): Promise<void> {
    const { keyboard } = this.page;
    for (;;) {
      await keyboard.press('Escape');
      if ((await this.page.locator('.tab.active').count()) === 0) return;
      await this.runCommand('View: Revert and Close Editor');
    }
  }

  /** Text of the first status bar item whose id starts with `id`; '' when there is none. */
  async statusBarText(id: string): Promise<string> {
    const item = this.page.locator(`.statusbar-item[id^="${id}"]`).first();
    if ((await item.count()) === 0) return '';
    return ((await item.getAttribute('aria-label')) ?? (await item.textContent()) ?? '').trim();
  }

  private async waitForCursor({ line, column }: Position): Promise<void> {
    const label = `Ln ${line}, Col ${column}`;
    await until(`the cursor at ${label}`, async () =>
      (await this.statusBarText('status.editor.selection')).includes(label),
    );
  }

  /** Opens the quick input with `key`, types into it and takes the row with exactly that label. */
  private async choose(key: string, text: string, label: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      await this.page.keyboard.press(key);
      try {
        // An editor or a webview that takes the focus a moment later closes the quick input.
        return await this.pick(text, label, attempt < 3 ? 5000 : 30_000);
      } catch (error) {
        if (attempt === 3) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  private async pick(text: string, label: string, timeout: number): Promise<void> {
    const input = this.page.locator('.quick-input-widget:visible .quick-input-box input');
    await input.fill(text, { timeout });
    const row = this.page.locator('.quick-input-list .monaco-list-row');
    await row
      .filter({ has: this.page.getByText(label, { exact: true }) })
      .first()
      .click({ timeout });
    // Some commands ask for something in the same place.
    const isDone = async (): Promise<boolean> =>
      !(await input.isVisible()) ||
      // null: hidden between the two questions.
      (await input.inputValue({ timeout: 200 }).catch(() => null)) !== text;
    await until(`"${label}" to be taken`, isDone, timeout);
  }
}
