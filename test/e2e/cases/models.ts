import assert from 'node:assert/strict';
import { ChatView } from '../driver/chat_view';
import { ModelsView } from '../driver/models_view';
import { until } from '../../until';
import type { Case } from '../suite';
import { hub, HUB_HIT, HUB_MODEL } from '../hub';

const pausedAndResumed: Case = {
  name: 'models: a download that a reload interrupts goes on where it was; the model is deleted',
  run: async (session) => {
    const { workbench } = session;
    const { page } = workbench;
    const models = new ModelsView(workbench);
    hub.faults.stallAfter = 5_000_000;
    await models.ask(HUB_MODEL, 'safetensors');
    await models.open();
    const row = models.row(HUB_MODEL);
    await until('a fifth of it', async () => /2\d % of/.test((await row.textContent()) ?? ''));
    await session.screenshot('models: downloading');
    await session.reload();

    await models.open();
    await until('the pause', async () => /paused/.test((await row.textContent()) ?? ''));
    await session.screenshot('models: paused');
    const before = hub.requests.length;
    await models.press(row, 'Go On with Download');
    await models.toastButton('Use for completion').waitFor();
    const [first] = hub.requests.slice(before);
    assert.match(first?.range ?? '', /^bytes=[1-9]\d{6}-$/);
    await page.locator('.notification-toast .codicon-notifications-clear').first().click();

    await until('the model', async () => /4-bit/.test((await row.textContent()) ?? ''));
    await row.click({ button: 'right' });
    const item = page.locator('.monaco-menu .action-label', { hasText: 'Delete Model' });
    const confirm = page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Delete' });
    await until('the question', async () => {
      if (await confirm.isVisible()) return true;
      // A menu takes no click in the moment in which it opens.
      await item.click({ timeout: 1000 }).catch(() => undefined);
      return false;
    });
    await confirm.click();
    await row.waitFor({ state: 'detached' });
  },
};

const searchedAndUsed: Case = {
  name: 'models: one is searched, downloaded over a connection that breaks, listed, and chats',
  run: async (session) => {
    const { workbench, editor } = session;
    const models = new ModelsView(workbench);
    hub.faults.breakAfter = [5_000_000];
    hub.listed = [HUB_HIT, { ...HUB_HIT, id: 'org/Other', config: { model_type: 'mamba' } }];
    const before = hub.requests.length;
    const found = await models.ask('echo model', HUB_MODEL);
    assert.match(found, /MLX · 22 MB.*MIT · 1,234 downloads/i);
    assert.match(await models.choose('safetensors'), /24 MB/);
    const started = performance.now();
    const use = models.toastButton('Use for chat');
    await use.waitFor({ timeout: 30_000 });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    await use.click();
    const ranges = hub.requests.slice(before).map(({ range }) => range);
    assert.equal(ranges.filter((range) => range !== '').length, 1, 'one download went on');

    const chat = new ChatView(workbench);
    await chat.open();
    await workbench.runCommand('anllm: New Chat');
    await chat.hasFocus();
    await until('the model’s name', async () =>
      /Downloaded-Echo/.test((await chat.frame.locator('.model').textContent()) ?? ''),
    );
    await chat.ask('Say this: one, two, three.');
    await chat.answered(1);
    assert.match((await chat.answers.textContent()) ?? '', /one, two, three/);

    await models.open();
    await models.row(HUB_MODEL).waitFor();
    assert.match((await models.row(HUB_MODEL).textContent()) ?? '', /chat/);

    await workbench.runCommand('anllm: Show Network Activity');
    await until('the record', async () => {
      const text = (await editor.lines()).join('\n');
      return text.includes(`download of ${HUB_MODEL}`) && text.includes('search for “echo model”');
    });
    await session.screenshot('models: network activity');
    return [`23 MB, with a broken connection, in ${seconds} s`];
  },
};

const recommended: Case = {
  name: 'models: what suits this computer is offered, with size and licence, before anything is asked of the network',
  run: async (session) => {
    const { workbench } = session;
    const { page } = workbench;
    const models = new ModelsView(workbench);
    const before = hub.requests.length;
    await models.open();
    const row = models.row('Qwen').first();
    await row.waitFor();
    assert.match((await row.textContent()) ?? '', /(completion|chat) · .* (MB|GB) · Apache-2\.0/);
    await session.screenshot('models: recommended');
    await workbench.runCommand('anllm: Download Model');
    const rows = page.locator('.quick-input-list .monaco-list-row');
    await rows.first().waitFor();
    assert.match((await rows.first().textContent()) ?? '', /of this computer’s memory/);
    await session.screenshot('models: offers');
    await models.input.fill('some words');
    await page.locator('.quick-input-list', { hasText: 'Search 127.0.0.1' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(hub.requests.length, before, 'nothing is sent before it is accepted');
  },
};

export const modelCases: readonly Case[] = [recommended, pausedAndResumed, searchedAndUsed];
