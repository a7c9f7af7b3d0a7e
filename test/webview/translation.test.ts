import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import { send, type ChatPages } from '../../scripts/lib/chat_page';
import { SLASH_NAMES, type ModelState } from '../../extension/protocol/chat_view';
import type { AssistantTurn, Attachment, Turn } from '../../extension/protocol/conversation';
import { pseudoTexts, withoutTranslated } from '../pseudo';
import { openChatPages } from './pages';

/** What users and models write is Greek here, so that Latin letters are ours. */
const MODEL: ModelState = { state: 'ready', title: 'Μοντέλο', detail: '', contextLength: 4096 };
const ATTACHMENT: Attachment = {
  id: '1',
  kind: 'file',
  path: 'δοκιμή/ένα',
  languageId: '',
  lines: [1, 2],
  text: 'κείμενο',
};
const answer = (id: string, other: Partial<AssistantTurn>): AssistantTurn => ({
  role: 'assistant',
  id,
  text: 'Απάντηση\n\n```\nχ = 1\n```\n\n```1+\nχ = 1\n```\n',
  reasoning: '',
  reasoningMs: null,
  state: 'done',
  problem: '',
  model: 'Μοντέλο',
  stats: null,
  ...other,
});
const STATS = {
  promptTokens: 5000,
  cachedTokens: 0,
  generatedTokens: 41,
  contextLength: 4096,
  decodeMs: 1000,
  totalMs: 75_000,
  cut: { messages: 2, wantedTokens: 5000 },
};
const QUESTION: Turn = { role: 'user', id: 'q', text: 'Ερώτηση', attachments: [ATTACHMENT] };

let pages: ChatPages;
let page: Page;
before(async () => (pages = await openChatPages({ language: 'el', texts: pseudoTexts() })));
after(() => pages.close());
beforeEach(async () => {
  page = await pages.newPage();
});

/** Texts and names with Latin letters that no translation gave, of all that the page shows and says. */
async function untranslated(): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const names = ['aria-label', 'title', 'placeholder', 'alt'];
    return [...document.querySelectorAll('body, body *:not(script)')].flatMap((element) => [
      ...[...element.childNodes]
        .filter((node) => node.nodeType === 3)
        .map((node) => node.nodeValue),
      ...names.map((name) => element.getAttribute(name)),
    ]);
  });
  assert.ok(texts.some((text) => text?.includes('⟦') === true));
  const names = new RegExp(`^/(${SLASH_NAMES.join('|')})$`);
  return texts
    .map((text) => withoutTranslated(text ?? ''))
    .filter((text) => /[a-z]/i.test(text) && !names.test(text));
}

async function show(turns: readonly Turn[], model = MODEL): Promise<void> {
  await send(page, { kind: 'model', model });
  const conversation = { id: 'c', title: 'Τίτλος', createdAt: 0, updatedAt: 0, turns };
  await send(page, { kind: 'conversation', conversation });
  // Markdown comes a moment after the page.
  const last = page.locator('.answer:last-child .code-block');
  if (turns.length > 0) await last.nth(1).waitFor();
}

test('the empty page, with a model and without', async () => {
  await page.getByText('⟦Ask about your code⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
  assert.equal(await page.locator('html').getAttribute('lang'), 'el');
  await show([], { ...MODEL, state: 'none', title: '' });
  await page.getByText('⟦Choose a chat model⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
});

test('the page while something hangs over it', async () => {
  await page.getByText('⟦Ask about your code⟧').waitFor();
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData('text/uri-list', 'file:///a');
    document.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true }));
  });
  await page.locator('.drop').waitFor();
  assert.deepEqual(await untranslated(), []);
});

test('a conversation, with an answer in every state', async () => {
  await show([
    QUESTION,
    answer('a', { stats: STATS, reasoning: 'Σκέψη', reasoningMs: 3000 }),
    answer('b', { state: 'stopped', reasoning: 'Σκέψη' }),
    answer('c', { state: 'failed', problem: 'Λάθος' }),
  ]);
  assert.deepEqual(await untranslated(), []);
  for (const state of ['waiting', 'streaming', 'done', 'failed', 'stopped'] as const) {
    await show([QUESTION, answer('d', { state, reasoning: 'Σκέψη', problem: 'Λάθος' })]);
    await send(page, { kind: 'turn', turn: answer('d', { state, reasoning: 'Σκέψη' }) });
    await page.locator('[role=status]', { hasText: '⟦' }).waitFor();
    assert.deepEqual(await untranslated(), [], state);
  }
});

test('a question that is edited', async () => {
  await show([QUESTION, answer('a', {})]);
  await page.getByRole('button', { name: '⟦Edit and ask again⟧' }).click();
  await page.getByText('⟦What follows this question is replaced.⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
});

test('attachments, commands and the context, when it is too small and when it is not', async () => {
  await show([QUESTION, answer('a', { stats: STATS })]);
  await send(page, { kind: 'attachments', attachments: [ATTACHMENT] });
  await page.getByPlaceholder('⟦').fill('/');
  await page.getByText('⟦Explain the attached code⟧').waitFor();
  await page.locator('.meter').click();
  await page.getByText('⟦The next question does not fit').waitFor();
  assert.deepEqual(await untranslated(), []);
  await show([QUESTION, answer('a', { stats: { ...STATS, promptTokens: 9, cut: null } })]);
  await page.getByText('⟦Nothing was left out.⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
});

test('earlier chats, and a title that is changed', async () => {
  await send(page, { kind: 'showHistory' });
  await page.getByText('⟦No earlier chats.⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
  const ages = [0, 5 * 60_000, 5 * 3_600_000, 1e10];
  const entries = ages.map((age, index) => ({
    id: String(index),
    title: 'Τίτλος',
    updatedAt: Date.now() - age,
    turns: 1,
  }));
  await send(page, { kind: 'history', entries });
  await page.getByRole('button', { name: '⟦Rename' }).first().click();
  await page.getByLabel('⟦Title⟧').waitFor();
  assert.deepEqual(await untranslated(), []);
});
