import type { Page } from 'playwright-core';
import { until } from '../../until';

/** The focused text editor, through the keyboard and the DOM. */
export class Editor {
  constructor(private readonly page: Page) {}

  /** Types as a person does: `delayMs` between keys. */
  async type(text: string, delayMs = 30): Promise<void> {
    await this.page.keyboard.type(text, { delay: delayMs });
  }

  async press(key: string): Promise<void> {
    await this.page.keyboard.press(key);
  }

  /** The document's lines in view, without ghost text. */
  async lines(): Promise<string[]> {
    return await this.page.evaluate<string[]>('anllmE2e.lines()');
  }

  /** The ghost text now shown with all its lines, or ''. */
  async ghostText(): Promise<string> {
    return await this.page.evaluate<string>('anllmE2e.ghostText()');
  }

  async waitForGhostText(timeoutMs = 15_000): Promise<string> {
    return await until('ghost text', () => this.ghostText(), timeoutMs);
  }

  async waitForNoGhostText(): Promise<void> {
    await until('no ghost text', async () => (await this.ghostText()) === '');
  }

  async waitForLine(text: string): Promise<void> {
    await until(`the line "${text}"`, async () => {
      const lines = await this.lines();
      return lines.includes(text) || Promise.reject(new Error(lines.join('\n')));
    });
  }

  /**
   * Presses one key. Resolves with the milliseconds from keydown to ghost text that follows `expected`, the cursor line
   * left of the cursor after the key; null when none came in `timeoutMs`.
   */
  async timeKey(key: string, expected: string, timeoutMs: number): Promise<number | null> {
    await this.page.evaluate(`anllmE2e.armClock(${JSON.stringify(expected)})`);
    await this.page.keyboard.type(key);
    const answer = this.page.waitForFunction<number>('anllmE2e.readClock()', null, {
      timeout: timeoutMs,
    });
    return await answer.then(
      (handle) => handle.jsonValue(),
      () => null,
    );
  }
}
