/** What keys do in the page of the chat, in a browser: where the focus is afterwards, and what the host is told. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, test } from 'node:test';
import type { Page } from 'playwright-core';
import { send, sent, type ChatPages } from '../../scripts/lib/chat_page';
import type { AssistantTurn, Turn } from '../../extension/protocol/conversation';
import { openChatPages } from './pages';

const QUESTION: Turn = { role: 'user', id: 'q', text: 'Why?', attachments: [] };
const answer = (state: AssistantTurn['state']): AssistantTurn => ({
  role: 'assistant',
  id: 'a',
  text: 'Because.',
  reasoning: '',
  reasoningMs: null,
  state,
  problem: '',
  model: 'Model',
  stats: null,
});

let pages: ChatPages;
let page: Page;
before(async () => (pages = await openChatPages()));
after(() => pages.close());
beforeEach(async () => {
  page = await pages.newPage();
  page.setDefaultTimeout(5000);
});

async function show(...turns: readonly Turn[]): Promise<void> {
  const model = { state: 'ready', title: 'Model', detail: '', contextLength: 4096 } as const;
  await send(page, { kind: 'model', model });
  const conversation = { id: 'c', title: 'Title', createdAt: 0, updatedAt: 0, turns };
  await send(page, { kind: 'conversation', conversation });
}

const focused = (name: string) =>
  page.locator(`:focus:is([aria-label="${name}"], [placeholder="${name}"])`).waitFor();

describe('a control that goes while it has the focus leaves it to the input', () => {
  it('Try again, once the answer is being written', async () => {
    await show(QUESTION, answer('done'));
    await page.getByRole('button', { name: 'Try again' }).focus();
    await page.keyboard.press('Enter');
    assert.deepEqual((await sent(page)).at(-1), { kind: 'retry', turn: 'a' });
    await show(QUESTION, answer('waiting'));
    await focused('Message');
    await page.keyboard.press('Escape');
    assert.deepEqual((await sent(page)).at(-1), { kind: 'stop' });
  });

  it('a question that was asked in other words, and one that was not', async () => {
    for (const key of ['Enter', 'Escape']) {
      await show(QUESTION, answer('done'));
      await page.getByRole('button', { name: 'Edit and ask again' }).focus();
      await page.keyboard.press('Enter');
      await focused('Your question');
      await page.keyboard.press(key);
      await focused('Message');
    }
  });

  it('an attachment, the context panel', async () => {
    await show(QUESTION, answer('done'));
    const file = {
      id: '1',
      kind: 'file',
      path: 'a.ts',
      languageId: '',
      lines: null,
      text: '',
    } as const;
    await send(page, { kind: 'attachments', attachments: [file] });
    await page.getByRole('button', { name: 'Remove a.ts' }).focus();
    await send(page, { kind: 'attachments', attachments: [] });
    await focused('Message');
    await page.locator('button.meter').click();
    await page.getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Enter');
    await focused('Message');
  });

  it('an earlier chat that is deleted: the search', async () => {
    await send(page, { kind: 'showHistory' });
    const entries = ['1', '2'].map((id) => ({ id, title: id, updatedAt: 0, turns: 1 }));
    await send(page, { kind: 'history', entries });
    await page.getByRole('button', { name: 'Delete 2' }).focus();
    await send(page, { kind: 'history', entries: entries.slice(0, 1) });
    await focused('Search earlier chats');
  });

  it('what the user leaves stays left', async () => {
    await show(QUESTION, answer('done'));
    await page.getByRole('button', { name: 'Try again' }).focus();
    await page.locator('.question .plain').click();
    await show(QUESTION, answer('waiting'));
    await page.getByText('Reading…').waitFor();
    assert.notEqual(await page.locator(':focus').getAttribute('aria-label'), 'Message');
  });
});

describe('Enter', () => {
  const none = { state: 'none', title: '', detail: '', contextLength: 0 } as const;

  it('sends a command that is typed whole, and completes one that is not', async () => {
    await show();
    const input = page.getByRole('textbox');
    await input.fill('/ex');
    await page.getByRole('option').first().waitFor();
    await input.press('Enter');
    assert.equal(await input.inputValue(), '/explain ');
    await input.fill('/fix');
    await page.getByRole('option').first().waitFor();
    await input.press('Enter');
    assert.deepEqual((await sent(page)).at(-1), { kind: 'send', text: '/fix' });
  });

  it('without a model asks for one, and what was typed waits', async () => {
    await show();
    await send(page, { kind: 'model', model: none });
    await page.getByText('Chat needs a model of its own').waitFor();
    const input = page.getByRole('textbox');
    await input.fill('Why?');
    await input.press('Enter');
    assert.deepEqual((await sent(page)).at(-1), { kind: 'chooseModel' });
    assert.equal(await input.inputValue(), 'Why?');
  });
});

test('an answer that failed offers another try, and the log', async () => {
  await show(QUESTION, { ...answer('failed'), problem: 'x'.repeat(200) });
  for (const [name, message] of [
    ['Try again', { kind: 'retry', turn: 'a' }],
    ['Show log', { kind: 'showLog' }],
  ] as const) {
    await page.getByRole('button', { name }).click();
    assert.deepEqual((await sent(page)).at(-1), message);
  }
  const isCut =
    'document.querySelector("main").scrollWidth > document.querySelector("main").clientWidth';
  assert.equal(await page.evaluate(isCut), false, 'all of a long word is seen');
});

describe('renaming an earlier chat', () => {
  const renames = async () => (await sent(page)).filter(({ kind }) => kind === 'rename');
  beforeEach(async () => {
    await send(page, { kind: 'showHistory' });
    const entries = [{ id: '1', title: 'Old', updatedAt: 0, turns: 1 }];
    await send(page, { kind: 'history', entries });
    await page.getByRole('button', { name: 'Rename Old' }).click();
    await focused('Title');
    await page.keyboard.type('New');
  });

  for (const [how, end] of [
    ['Enter', () => page.keyboard.press('Enter')],
    ['a click elsewhere', () => page.getByRole('searchbox').click()],
  ] as const) {
    it(`with ${how} tells the host once`, async () => {
      await end();
      await page.getByRole('button', { name: 'Rename Old' }).waitFor();
      assert.deepEqual(await renames(), [{ kind: 'rename', id: '1', title: 'New' }]);
    });
  }

  it('given up with Escape tells it nothing', async () => {
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Rename Old' }).waitFor();
    assert.deepEqual(await renames(), []);
  });
});

describe('keys while an input method composes are its own', () => {
  /** What a browser says of a key that a candidate window takes. */
  const composing = (key: string) =>
    page.locator(':focus').evaluate((element, name) => {
      element.dispatchEvent(
        new KeyboardEvent('keydown', {
          key: name,
          isComposing: true,
          bubbles: true,
          cancelable: true,
        }),
      );
    }, key);

  it('in the input, in a question that is edited, and in a title', async () => {
    await show(QUESTION, answer('done'));
    await page.getByRole('textbox').fill('かな');
    await page.getByRole('textbox').focus();
    await composing('Enter');
    await page.getByRole('button', { name: 'Edit and ask again' }).click();
    await focused('Your question');
    for (const key of ['Enter', 'Escape']) await composing(key);
    await focused('Your question');
    await send(page, { kind: 'showHistory' });
    await send(page, {
      kind: 'history',
      entries: [{ id: '1', title: 'Old', updatedAt: 0, turns: 1 }],
    });
    await page.getByRole('button', { name: 'Rename Old' }).click();
    await focused('Title');
    for (const key of ['Enter', 'Escape']) await composing(key);
    await focused('Title');
    const kinds = (await sent(page)).map(({ kind }) => kind);
    for (const kind of ['send', 'edit', 'rename'] as const) assert(!kinds.includes(kind), kind);
  });
});

test('Up in an empty input brings the last question back', async () => {
  await show(QUESTION, answer('done'));
  const input = page.getByRole('textbox');
  await input.press('ArrowUp');
  assert.equal(await input.inputValue(), 'Why?');
  await input.fill('Other');
  await input.press('ArrowUp');
  assert.equal(await input.inputValue(), 'Other');
});

test('Escape closes the context panel from the meter, and from the input', async () => {
  await show(QUESTION, answer('done'));
  const panel = page.locator('.context-panel');
  for (const from of ['button.meter', 'textarea']) {
    await page.locator('button.meter').click();
    await panel.waitFor();
    await page.locator(from).press('Escape');
    await panel.waitFor({ state: 'detached' });
  }
});

test('only the last answer is tried again: another one would take what follows with it', async () => {
  const later: Turn[] = [
    { ...QUESTION, id: 'q2' },
    { ...answer('done'), id: 'a2' },
  ];
  await show(QUESTION, answer('done'), ...later);
  const again = page.getByRole('button', { name: 'Try again' });
  assert.equal(await again.count(), 1);
  await again.click();
  assert.deepEqual((await sent(page)).at(-1), { kind: 'retry', turn: 'a2' });
});

test('a question is not asked again while an answer is written, nor empty', async () => {
  await show(QUESTION, answer('done'));
  await page.getByRole('button', { name: 'Edit and ask again' }).click();
  await focused('Your question');
  await show(QUESTION, answer('streaming'));
  await page.keyboard.press('Enter');
  await focused('Your question');
  await show(QUESTION, answer('done'));
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.press('Enter');
  await focused('Your question');
  assert(!(await sent(page)).some(({ kind }) => kind === 'edit'));
});

test('code within a list is copied whole, in its language', async () => {
  const text = '1. Install:\n\n   ```sh\n   npm i <x>\n\n   npm test\n   ```\n2. Go.\n';
  await show(QUESTION, { ...answer('done'), text });
  await page.getByRole('button', { name: 'Copy' }).click();
  assert.deepEqual((await sent(page)).at(-1), {
    kind: 'code',
    action: 'copy',
    code: 'npm i <x>\n\nnpm test',
    language: 'sh',
  });
});
