import type { Locator } from 'playwright-core';
import type { Workbench } from './workbench';

/** The view of models, and the questions and notes of downloads. */
export class ModelsView {
  constructor(private readonly workbench: Workbench) {}

  async open(): Promise<void> {
    await this.workbench.runCommand('anllm: Focus on Models View');
  }

  row(text: string): Locator {
    return this.workbench.page
      .locator('.pane', { hasText: 'Models' })
      .locator('.monaco-list-row', { hasText: text });
  }

  /** Presses a row's own button, which is there while the mouse is over the row. */
  async press(row: Locator, button: string): Promise<void> {
    await row.hover();
    await row.getByRole('button', { name: button }).click();
  }

  /** Asks for a download by what a person types, and takes the row that says `choice`. */
  async ask(typed: string, choice: string): Promise<string> {
    await this.workbench.runCommand('anllm: Download Model');
    await this.input.fill(typed);
    await this.workbench.page.keyboard.press('Enter');
    return await this.choose(choice);
  }

  /** @returns what the row says */
  async choose(text: string): Promise<string> {
    const row = this.workbench.page.locator('.quick-input-list .monaco-list-row', {
      hasText: text,
    });
    await row.first().waitFor();
    const said = (await row.first().textContent()) ?? '';
    await row.first().click();
    return said;
  }

  get input(): Locator {
    return this.workbench.page.locator('.quick-input-widget:visible .quick-input-box input');
  }

  /** A button of a message in the corner. */
  toastButton(text: string): Locator {
    return this.workbench.page.locator('.notification-toast .monaco-button', { hasText: text });
  }
}
