/** The page of the chat in the narrowest side bar that VS Code has. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { send, type ChatPages } from '../../scripts/lib/chat_page';
import { openChatPages } from './pages';

let pages: ChatPages;
before(async () => (pages = await openChatPages()));
after(() => pages.close());

test('a model can be told by its name where the meter has the length of the context beside it elsewhere', async () => {
  const page = await pages.newPage();
  await page.evaluate(() =>
    document.documentElement.style.setProperty('--vscode-font-size', '13px'),
  );
  const length = page.locator('.meter .of');
  const model = {
    state: 'ready',
    title: 'Qwen3 4B',
    detail: '',
    contextLength: 32_768,
  } as const;
  await send(page, { kind: 'model', model });
  await page.setViewportSize({ width: 400, height: 500 });
  await length.waitFor({ state: 'visible' });
  await page.setViewportSize({ width: 210, height: 500 });
  await length.waitFor({ state: 'hidden' });
  const missing = await page.locator('.model span:not(.codicon)').evaluate((name) => {
    const text = document.createRange();
    text.selectNodeContents(name);
    return text.getBoundingClientRect().width - name.getBoundingClientRect().width;
  });
  assert.ok(missing < 0.1, `${missing} pixels of the name are cut off`);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(overflow, 0);
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
});

test('with many attachments the input stays in view, and long names are cut', async () => {
  const page = await pages.newPage();
  await page.setViewportSize({ width: 210, height: 400 });
  const attachments = Array.from({ length: 60 }, (_, index) => ({
    id: String(index),
    kind: 'file' as const,
    path: `src/a_file_with_quite_a_long_name_${index}.test.ts`,
    languageId: '',
    lines: null,
    text: '',
  }));
  await send(page, { kind: 'attachments', attachments });
  await page.locator('.attachments li').nth(59).waitFor({ state: 'attached' });
  const box = await page.getByRole('textbox').boundingBox();
  assert(box && box.y >= 0 && box.y + box.height <= 400, JSON.stringify(box));
  const tall = await page.locator('.attachments li').first().boundingBox();
  assert((tall?.height ?? 0) < 32, 'a name is one line');
});
