import assert from 'node:assert/strict';
import { until } from '../../until';
import type { Case } from '../suite';
import { newChat } from './new_chat';

const WRONG = `export function add(a: number, b: number): number {
  return a - b;█
}
`;
const RIGHT = WRONG.replace('█', '').replace('a - b', 'a + b');

/** The model says it again. The picture and the link are what a page must not follow. */
const FIX = `Here is a **fix**, see [more](https://evil.example/link):

![x](https://evil.example/picture.png)

\`\`\`ts
export function add(a: number, b: number): number {
  return a + b;
}
\`\`\``;

const LONG = Array.from({ length: 45 }, (_, index) => `- item ${index} of a long list`).join('\n');

const answerAndApply: Case = {
  name: 'chat: an answer as Markdown that loads nothing; its code applied as a diff, and undone',
  run: async (session) => {
    const { workbench, editor } = session;
    const { page } = workbench;
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await session.open('sum.ts', WRONG);
    const chat = await newChat(session);
    await chat.ask(FIX);
    await chat.answered(1);
    const answer = chat.answers.first();
    assert.equal(await answer.locator('strong').textContent(), 'fix');
    assert.equal(await answer.locator('pre').textContent(), RIGHT);
    assert.match((await answer.locator('footer').textContent()) ?? '', /tokens\/s/);
    assert.deepEqual(
      requests.filter((url) => url.includes('evil.example')),
      [],
    );
    await answer.getByRole('button', { name: /^Apply/ }).click();
    await page.locator('.tab.active', { hasText: 'before ↔' }).waitFor();
    await page.keyboard.press('Control+1');
    await until('the change', async () => (await editor.lines()).includes('  return a + b;'));
    assert.equal(session.sandbox.read('sum.ts'), WRONG.replace('█', ''), 'nothing is saved');
    await workbench.closeEditors();
  },
};

const stopRetryEdit: Case = {
  name: 'chat: stop, try again, edit and ask again, by keyboard alone',
  run: async (session) => {
    const { keyboard } = session.workbench.page;
    const chat = await newChat(session);
    await chat.ask(LONG);
    await chat.answers.locator('li').first().waitFor();
    await keyboard.press('Escape');
    await chat.answered(1);
    const footer = chat.answers.locator('footer');
    assert.match((await footer.textContent()) ?? '', /^Stopped/);
    const stopped = await chat.answers.locator('li').count();
    assert(stopped < 45, `${stopped} of 45 items were written`);

    // Backwards from the input: the conversation's last control, the one before.
    await keyboard.press('Shift+Tab');
    await chat.tabTo(/^Edit and ask again/, 'Shift+Tab');
    await keyboard.press('Enter');
    await until(
      'the editor of the question',
      async () => (await chat.focusedLabel()) === 'Your question',
    );
    await keyboard.insertText('Say this: one, two, three.');
    await keyboard.press('Enter');
    // Until it is written, the stopped answer stands.
    await until('the new answer', async () =>
      /one, two, three/.test((await chat.answers.textContent()) ?? ''),
    );
    await chat.answered(1);

    await chat.open();
    await chat.tabTo(/^Try again/, 'Shift+Tab');
    await keyboard.press('Enter');
    await chat.answered(1);
    assert.match((await chat.answers.textContent()) ?? '', /one, two, three/);
  },
};

const commandOnSelection: Case = {
  name: 'chat: a slash command takes the open file along; axe finds nothing wrong',
  run: async (session) => {
    await session.open('sum.ts', WRONG);
    const chat = await newChat(session);
    const { keyboard } = session.workbench.page;
    await keyboard.type('/ex');
    await chat.frame.getByRole('option', { name: '/explain' }).waitFor();
    assert.deepEqual(await chat.accessibilityProblems(), []);
    await keyboard.press('Enter');
    assert.equal(await chat.input.inputValue(), '/explain ');
    await keyboard.press('Enter');
    await chat.answered(1);
    assert.equal(await chat.frame.locator('.question .attachments li').textContent(), 'sum.ts');
    assert.match((await chat.answers.textContent()) ?? '', /return a - b/);
    assert.deepEqual(await chat.accessibilityProblems(), []);
  },
};

const historyAfterReload: Case = {
  name: 'chat: after a reload the conversation is there; history is searched and renamed',
  run: async (session) => {
    const { page } = session.workbench;
    const chat = await newChat(session);
    await chat.ask('Say this: quokka, wombat, koala.');
    await chat.answered(1);
    await session.reload();
    await chat.open();
    await chat.answered(1);
    assert.match((await chat.answers.textContent()) ?? '', /quokka/);

    const entries = await chat.searchHistory('quokka');
    await until('the one chat', async () => (await entries.count()) === 1);
    assert.deepEqual(await chat.accessibilityProblems(), []);
    await chat.frame.getByRole('button', { name: /^Rename/ }).click();
    await until('the title’s input', async () => (await chat.focusedLabel()) === 'Title');
    await page.keyboard.type('Animals');
    await page.keyboard.press('Enter');
    await until('the new title', async () => (await entries.textContent()) === 'Animals');
    await entries.click();
    await chat.answered(1);
  },
};

const participant: Case = {
  name: 'chat: @anllm answers in VS Code’s own chat, without an account',
  run: async ({ workbench }) => {
    const { page } = workbench;
    await page.keyboard.press('Control+Alt+I');
    const chat = page.locator('.interactive-session');
    await chat.locator('.chat-editor-container .view-lines').first().click();
    await page.keyboard.insertText('@anllm Say this: one, two, three.');
    await page.keyboard.press('Enter');
    const response = chat.locator('.interactive-response').last();
    await until('the answer', async () =>
      /Say this: one, two, three\./.test((await response.textContent()) ?? ''),
    );
    await workbench.runCommand('View: Toggle Secondary Side Bar Visibility');
  },
};

export const chatViewCases: readonly Case[] = [
  answerAndApply,
  stopRetryEdit,
  commandOnSelection,
  historyAfterReload,
  participant,
];
