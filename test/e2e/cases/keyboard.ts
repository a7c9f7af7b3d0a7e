import assert from 'node:assert/strict';
import { until } from '../../until';
import type { ChatView } from '../driver/chat_view';
import type { Workbench } from '../driver/workbench';
import { withScript } from '../scripted_model';
import type { Case } from '../suite';
import { newChat } from './new_chat';

const WRONG = `export function add(a: number, b: number): number {
  return a - b;█
}
`;
const FIXED = `export function add(a: number, b: number): number {
  return a + b;
}`;
const LIST = Array.from({ length: 40 }, (_, index) => `- item ${index}`).join('\n');

/** Runs a command from the palette, as Workbench.runCommand, with keys alone. */
async function command({ page }: Workbench, title: string): Promise<void> {
  const input = page.locator('.quick-input-widget:visible .quick-input-box input');
  const row = page
    .locator('.quick-input-list .monaco-list-row')
    .filter({ has: page.getByText(title, { exact: true }) });
  const isFocused = async (): Promise<boolean> =>
    ((await row.getAttribute('class')) ?? '').split(' ').includes('focused');
  await until(`"${title}" in the palette`, async () => {
    // What an attempt before this one has typed.
    if (await input.isVisible()) await page.keyboard.press('Escape');
    await page.keyboard.press('F1');
    await input.and(page.locator(':focus')).waitFor({ timeout: 5000 });
    await page.keyboard.insertText(title);
    await row.waitFor({ timeout: 5000 });
    // Commands of nearly the same name that were used of late stand above it.
    for (let presses = 0; presses < 4 && !(await isFocused()); presses++) {
      await page.keyboard.press('ArrowDown');
    }
    return await isFocused();
  });
  await page.keyboard.press('Enter');
}

/** Walks back from the input to a control of the conversation and presses it. */
async function pressControl(workbench: Workbench, chat: ChatView, label: RegExp): Promise<void> {
  await command(workbench, 'anllm: Open Chat');
  await chat.hasFocus();
  await chat.tabTo(label, 'Shift+Tab');
  await chat.press('Enter');
}

/** Waits until the only answer says that, whole. */
async function answers(chat: ChatView, words: RegExp): Promise<void> {
  await until(`the answer ${String(words)}`, async () => {
    const said = (await chat.answers.textContent()) ?? '';
    return words.test(said) || Promise.reject(new Error(said));
  });
  await chat.answered(1);
}

export const keyboardCase: Case = {
  name: 'chat: a whole conversation by keyboard alone',
  run: (session) =>
    withScript(session, async (model) => {
      const { workbench, editor } = session;
      const { page } = workbench;
      await session.open('keys.ts', WRONG);
      const chat = await newChat(session);
      await chat.frame.locator('.model', { hasText: 'scripted' }).waitFor();

      // From here on nothing but keys: select, attach, ask, stop.
      await chat.press('Control+1');
      await until('the editor', () => page.locator('.editor-instance .focused').count());
      await chat.press('Shift+Home');
      await command(workbench, 'anllm: Add Selection to Chat');
      await chat.hasFocus();
      await chat.frame.locator('.composer .attachments li', { hasText: 'keys.ts:2-2' }).waitFor();
      model.says(LIST, { hold: true });
      await chat.ask('What is wrong with this zebra?');
      await chat.answers.locator('li').first().waitFor();
      await chat.press('Escape');
      await chat.answered(1);
      assert.match((await chat.answers.locator('footer').textContent()) ?? '', /^Stopped/);
      assert.match(model.questions.at(-1) ?? '', /return a - b;[^]*zebra/);

      model.says('It subtracts.');
      await pressControl(workbench, chat, /^Try again/);
      await answers(chat, /It subtracts\./);

      model.says(`So:\n\n\`\`\`ts\n${FIXED}\n\`\`\`\n`);
      await pressControl(workbench, chat, /^Edit and ask again/);
      await until('the question', async () => (await chat.focusedLabel()) === 'Your question');
      await chat.ask('How should this zebra be?');
      await answers(chat, /return a \+ b/);

      await pressControl(workbench, chat, /^Copy/);
      const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
      await until('the copied code', async () => (await copied()) === FIXED);
      await pressControl(workbench, chat, /^Apply to the file/);
      await page.locator('.tab.active', { hasText: 'before ↔' }).waitFor();
      await chat.press('Control+1');
      await editor.waitForLine('  return a + b;');

      await pressControl(workbench, chat, /^Go on from here/);
      await chat.hasFocus();
      await answers(chat, /return a \+ b/);

      await command(workbench, 'anllm: Show Chat History');
      await until('the search', async () => /^Search/.test((await chat.focusedLabel()) ?? ''));
      await chat.type('zebra');
      const titles = chat.frame.locator('.history .entry .title');
      await until('both chats', async () => (await titles.count()) === 2);
      await chat.tabTo(/^Rename .*\(branch\)$/, 'Tab');
      await chat.press('Enter');
      await until('the title’s input', async () => (await chat.focusedLabel()) === 'Title');
      await chat.type('Stripes');
      await chat.press('Enter');
      await until('the entry', async () => /^Stripes/.test((await chat.focusedLabel()) ?? ''));
      await chat.press('Enter');
      await answers(chat, /return a \+ b/);
    }),
};
