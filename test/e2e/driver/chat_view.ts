import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FrameLocator, Locator } from 'playwright-core';
import { until } from '../../until';
import type { Workbench } from './workbench';

/** Controls that a person would walk through at most. */
const MAX_TABS = 16;

/** The chat view of the extension, used as a person uses it. */
export class ChatView {
  readonly frame: FrameLocator;

  constructor(private readonly workbench: Workbench) {
    this.frame = workbench.page
      .frameLocator('iframe.webview.ready')
      .frameLocator('iframe#active-frame');
  }

  get input(): Locator {
    return this.frame.locator('.composer textarea');
  }

  get answers(): Locator {
    return this.frame.locator('.answer');
  }

  /** Opens the view by its command; the input then has the focus. */
  async open(): Promise<void> {
    await this.workbench.runCommand('anllm: Open Chat');
    await this.hasFocus();
  }

  async hasFocus(): Promise<void> {
    await this.waitForFocus('the chat input', this.input);
  }

  /** Shows the earlier chats that have these words, typed into their search. @returns their titles */
  async searchHistory(words: string): Promise<Locator> {
    await this.workbench.runCommand('anllm: Show Chat History');
    await this.waitForFocus('the search', this.frame.getByRole('searchbox'));
    await this.type(words);
    return this.frame.locator('.history .entry .title');
  }

  /** The page has the focus, and that element within it: an active element of a page without focus hears no key. */
  private async waitForFocus(name: string, locator: Locator): Promise<void> {
    await until(`the focus in ${name}`, () =>
      locator.evaluate(
        (element) => {
          const { activeElement } = element.ownerDocument;
          return element === activeElement && element.ownerDocument.hasFocus();
        },
        undefined,
        { timeout: 1000 },
      ),
    );
  }

  /** Takes out what another case left in the input. */
  async clear(): Promise<void> {
    await this.input.fill('');
    const detach = this.frame.locator('.composer .attachments button');
    await until('no attachment', async () => {
      const count = await detach.count();
      if (count > 0) await detach.first().click({ timeout: 1000 });
      return count === 0;
    });
    await this.input.focus();
  }

  async press(key: string): Promise<void> {
    await this.workbench.page.keyboard.press(key);
  }

  /** What a screen reader calls the control with the focus. */
  async focusedLabel(): Promise<string | null> {
    const focused = this.frame.locator(':focus');
    if ((await focused.count()) === 0) return null;
    return (await focused.getAttribute('aria-label')) ?? (await focused.textContent());
  }

  /** Presses Tab, or Shift+Tab, until the control with such a label has the focus. */
  async tabTo(label: RegExp, key: 'Tab' | 'Shift+Tab'): Promise<void> {
    const met: (string | null)[] = [];
    while (met.length < MAX_TABS) {
      const focused = await this.focusedLabel();
      if (focused !== null && label.test(focused)) return;
      met.push(focused);
      await this.press(key);
    }
    throw new Error(`${key} never came to ${String(label)}, but to ${met.join(', ')}`);
  }

  /** Types into the focused input; several lines as with Shift+Enter. */
  async type(text: string): Promise<void> {
    const { keyboard } = this.workbench.page;
    for (const [index, line] of text.split('\n').entries()) {
      if (index > 0) await keyboard.press('Shift+Enter');
      await keyboard.insertText(line);
    }
  }

  async ask(text: string): Promise<void> {
    await this.type(text);
    await this.workbench.page.keyboard.press('Enter');
  }

  /** Waits until `count` answers stand and none is being written. */
  async answered(count: number, timeoutMs = 15_000): Promise<void> {
    const stand = async (): Promise<boolean> => {
      const done = await this.frame.locator('.answer[aria-busy=false]').count();
      return done === count && (await this.answers.count()) === count;
    };
    await until(`${count} answers`, stand, timeoutMs);
  }

  /** What axe-core finds wrong with the page, one line each. */
  async accessibilityProblems(): Promise<string[]> {
    const source = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
    const body = this.frame.locator('body');
    return await body.evaluate(
      `(async () => {
        ${source};
        const { violations } = await axe.run(document, { resultTypes: ['violations'] });
        return violations.map(({ id, help, nodes }) => id + ': ' + help + ' ' + nodes[0].html);
      })()`,
    );
  }
}
