import assert from 'node:assert/strict';
import { until } from '../../until';
import { withScript } from '../scripted_model';
import type { Session } from '../session';
import type { Case } from '../suite';

const BEFORE = `export function total(prices: number[]): number {
  let sum = 0;█
  for (const price of prices) {
    sum += price;
  }
  return sum;
}

export const VAT = 0.2;
`;
const REWRITTEN = `export function total(prices: number[]): number {
  return prices.reduce((sum, price) => sum + price, 0);
}`;
const TEXT = BEFORE.replace('█', '');
const AFTER = `${REWRITTEN}\n\nexport const VAT = 0.2;\n`;
const ANSWER = `\`\`\`typescript\n${REWRITTEN}\n\`\`\``;

/** Opens the file, presses the key of inline edits at the cursor, and gives the instruction. */
export async function startEdit(session: Session, instruction: string): Promise<void> {
  const { page } = session.workbench;
  const input = page.locator('.quick-input-widget:visible .quick-input-box input');
  // The key is ours once the extension has seen the setting.
  await until('the question for the instruction', async () => {
    await page.keyboard.press('Alt+I');
    return await input.waitFor({ timeout: 1000 }).then(
      () => true,
      () => false,
    );
  });
  await input.fill(instruction);
  await page.keyboard.press('Enter');
}

const document = async (session: Session): Promise<string> =>
  (await session.hostState()).texts['edit.ts'] ?? '';

/** The buttons, and with them the keys, are there. */
const canKeep = async ({ workbench }: Session): Promise<void> =>
  workbench.page.locator('.editor-actions [aria-label^="Keep Edit"]').waitFor();

const shown = async (session: Session, title: string): Promise<void> =>
  session.workbench.page.locator('.tab.active', { hasText: title }).waitFor();

const keepAndUndo: Case = {
  name: 'inline edit: written as a diff, kept, and taken back by one undo',
  run: (session) =>
    withScript(session, async (model) => {
      const { keyboard } = session.workbench.page;
      await session.open('edit.ts', BEFORE);
      model.says(ANSWER, { hold: true });
      await startEdit(session, 'Use reduce.');
      await shown(session, 'edit that is written');
      assert.equal(await document(session), TEXT, 'nothing is changed while it is written');
      model.goOn();
      await shown(session, 'before ↔ edit');
      await until('the edit', async () => (await document(session)) === AFTER);
      assert.match(
        model.questions.at(-1) ?? '',
        /The code to rewrite:[^]*let sum = 0[^]*Use reduce/,
      );
      await canKeep(session);
      await keyboard.press('Control+Enter');
      await session.workbench.page.locator('.tab.active[data-resource-name="edit.ts"]').waitFor();
      await until('the kept edit', async () => (await session.editor.lines()).includes('}'));
      assert.equal(await document(session), AFTER);
      assert.equal(session.sandbox.read('edit.ts'), TEXT, 'nothing is saved');
      await keyboard.press('Control+Z');
      await until('the text of before', async () => (await document(session)) === TEXT);
    }),
};

const discard: Case = {
  name: 'inline edit: discarded whole, and in part, by keyboard',
  run: (session) =>
    withScript(session, async (model) => {
      const { keyboard } = session.workbench.page;
      await session.open('edit.ts', BEFORE);
      model.says(ANSWER);
      await startEdit(session, 'Use reduce.');
      await shown(session, 'before ↔ edit');
      await until('the edit', async () => (await document(session)) === AFTER);
      await canKeep(session);
      await keyboard.press('Shift+Escape');
      await until('the text of before', async () => (await document(session)) === TEXT);
      await session.workbench.page.locator('.tab.active[data-resource-name="edit.ts"]').waitFor();

      const twice = TEXT.replace('let sum', 'let all').replace('return sum', 'return all');
      model.says(`\`\`\`ts\n${twice.slice(0, twice.indexOf('\n\n'))}\n\`\`\``);
      await session.open('edit.ts', BEFORE);
      await startEdit(session, 'Rename.');
      await shown(session, 'before ↔ edit');
      await until('the edit', async () => (await document(session)) === twice);
      await session.workbench.goToLine(6);
      await session.workbench.runCommand('anllm: Discard Part of the Edit at the Cursor');
      const half = TEXT.replace('let sum', 'let all');
      await until('the other part', async () => (await document(session)) === half);
    }),
};

const cancelAndRefuse: Case = {
  name: 'inline edit: cancelled without a trace; lines that changed meanwhile are left alone',
  run: (session) =>
    withScript(session, async (model) => {
      const { workbench, editor } = session;
      const { page } = workbench;
      await session.open('edit.ts', BEFORE);
      model.says(ANSWER, { hold: true });
      await startEdit(session, 'Use reduce.');
      await shown(session, 'edit that is written');
      await until('the request', () => model.questions.length === 1);
      await page.keyboard.press('Escape');
      await until('the stream to be closed', () => Promise.resolve(model.aborted > 0));
      await page.locator('.tab.active[data-resource-name="edit.ts"]').waitFor();
      assert.equal(await document(session), TEXT);

      model.says(ANSWER, { hold: true });
      await startEdit(session, 'Use reduce.');
      await shown(session, 'edit that is written');
      await workbench.openFile(`${session.sandbox.workspace}/edit.ts`, { line: 2, column: 3 });
      await editor.type('x');
      const typed = TEXT.replace('let sum', 'xlet sum');
      await until('the typed letter', async () => (await document(session)) === typed);
      model.goOn();
      await page.locator('.notification-list-item', { hasText: 'these lines changed' }).waitFor();
      assert.equal(await document(session), typed);
    }),
};

const cutOff: Case = {
  name: 'inline edit: an answer that was cut off takes no line away',
  run: (session) =>
    withScript(session, async (model) => {
      const { page } = session.workbench;
      await session.open('edit.ts', BEFORE);
      model.says(ANSWER.slice(0, ANSWER.indexOf('=>')), { finish: 'length' });
      await startEdit(session, 'Use reduce.');
      await page
        .locator('.notification-list-item', { hasText: 'cut off at 2,048 tokens' })
        .waitFor();
      await page.locator('.tab.active[data-resource-name="edit.ts"]').waitFor();
      assert.equal(await document(session), TEXT);
    }),
};

export const inlineEditCases: readonly Case[] = [keepAndUndo, discard, cancelAndRefuse, cutOff];
