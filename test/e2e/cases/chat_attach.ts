import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../until';
import type { ChatView } from '../driver/chat_view';
import type { Session } from '../session';
import type { Case } from '../suite';
import { withScript } from '../scripted_model';
import { newChat } from './new_chat';

const CODE = `export function add(a: number, b: number): number {
  return a + b;█
}

export const ZERO = 0;
`;

const attached = (chat: ChatView) => chat.frame.locator('.composer .attachments li');

async function waitAttached(chat: ChatView, ...labels: string[]): Promise<void> {
  await until(`${labels.join(' and ')} to be attached`, async () => {
    const texts = await attached(chat).allTextContents();
    return labels.length === texts.length && labels.every((label, at) => texts[at] === label);
  });
}

/** Sends what is typed. @returns what the model was given */
async function asked(session: Session, chat: ChatView): Promise<string> {
  let question = '';
  await withScript(session, async (model) => {
    model.says('Yes.');
    await chat.frame.locator('.model', { hasText: 'scripted' }).waitFor();
    await chat.press('Enter');
    await chat.answered(1);
    question = model.questions.at(-1) ?? '';
  });
  return question;
}

const symbols: Case = {
  name: 'attach: # offers names of the code, and the chosen one goes along',
  run: async (session) => {
    await session.open('names.ts', CODE);
    const chat = await newChat(session);
    const { keyboard } = session.workbench.page;
    const option = chat.frame.getByRole('option', { name: /add.*names\.ts:1/ });
    // The language server starts with the file.
    await until('the name', async () => {
      await keyboard.press('Control+A');
      await keyboard.type('what is #ad');
      if ((await chat.input.inputValue()) !== 'what is #ad') return false;
      return option.waitFor({ timeout: 1000 }).then(
        () => true,
        () => false,
      );
    });
    assert.deepEqual(await chat.accessibilityProblems(), []);
    await keyboard.press('Enter');
    await waitAttached(chat, 'names.ts:1-3');
    assert.equal(await chat.input.inputValue(), 'what is `add` ');
    const question = await asked(session, chat);
    assert.match(question, /^Code: names\.ts, lines 1 to 3\n[^]*return a \+ b/);
    assert.doesNotMatch(question, /ZERO/);
  },
};

const explorer: Case = {
  name: 'attach: files and folders dropped from the explorer; what lies elsewhere is refused',
  run: async (session) => {
    const { workbench, sandbox } = session;
    const { page } = workbench;
    await session.open('lib/one.ts', 'export const one = 1;█\n');
    sandbox.write('lib/two.ts', 'export const two = 2;\n');
    sandbox.write('lib/node_modules/x/index.js', 'generated');
    const chat = await newChat(session);
    await drop(chat, `vscode-remote://${new URL(page.url()).host}${sandbox.workspace}/lib`);
    await waitAttached(chat, 'lib');
    await drop(chat, `file://${sandbox.workspace}/lib/two.ts`);
    await waitAttached(chat, 'lib', 'two.ts');
    await drop(chat, 'file:///etc/passwd');
    await drop(chat, 'file://host.example/share/one.ts');
    symlinkSync('/etc/passwd', join(sandbox.workspace, 'lib', 'link.ts'));
    await drop(chat, `file://${sandbox.workspace}/lib/link.ts`);
    await drop(chat, `file://${sandbox.workspace}/../../../../../etc/passwd`);
    const refusals = page.locator('.notification-list-item', {
      hasText: 'is not in the open folder',
    });
    await until('the refusals', async () => (await refusals.count()) > 0);
    await waitAttached(chat, 'lib', 'two.ts');
    await chat.open();
    await chat.type('What is here?');
    const question = await asked(session, chat);
    assert.match(question, /^Folder: lib\n[^]*=== one\.ts[^]*one = 1[^]*File: lib\/two\.ts/);
    assert.doesNotMatch(question, /generated|passwd/);
  },
};

/** What the explorer gives the page when Shift is held. */
async function drop(chat: ChatView, uri: string): Promise<void> {
  await chat.frame.locator('body').evaluate((body, address) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData('text/uri-list', address);
    const options = { bubbles: true, cancelable: true, dataTransfer };
    body.dispatchEvent(new DragEvent('dragover', options));
    body.dispatchEvent(new DragEvent('drop', options));
  }, uri);
}

const terminal: Case = {
  name: 'attach: what is selected in the terminal, and the clipboard stays as it was',
  run: async (session) => {
    const { workbench } = session;
    const { page } = workbench;
    const chat = await newChat(session);
    await workbench.runCommand('Terminal: Create New Terminal');
    await page
      .locator('.terminal-wrapper.active .xterm-helper-textarea')
      .waitFor({ state: 'attached' });
    await until('the shell', async () => {
      await workbench.runCommand('Terminal: Select All');
      await workbench.runCommand('anllm: Add Terminal Selection to Chat');
      return (await attached(chat).count()) === 1;
    });
    await workbench.runCommand('Terminal: Kill All Terminals');
  },
};

const branchAndMeter: Case = {
  name: 'chat: going on from an answer leaves the chat as it is; the meter says what is in use',
  run: (session) =>
    withScript(session, async (model) => {
      const chat = await newChat(session);
      model.says('alpha');
      await chat.ask('Say this: alpha, beta.');
      await chat.answered(1);
      model.says('gamma');
      await chat.ask('Say this: gamma, delta.');
      await chat.answered(2);
      const first = chat.answers.first();
      await first.getByRole('button', { name: /^Go on from here/ }).click();
      await chat.answered(1);
      await chat.hasFocus();
      assert.match((await chat.answers.textContent()) ?? '', /alpha/);
      await chat.frame.locator('button.meter').click();
      await chat.frame.locator('.context-panel').waitFor();
      assert.match(
        (await chat.frame.locator('.context-panel').textContent()) ?? '',
        /Nothing was left out/,
      );
      assert.deepEqual(await chat.accessibilityProblems(), []);
      await session.workbench.page.keyboard.press('Escape');
      const titles = await chat.searchHistory('alpha');
      await until('both chats', async () => {
        const found = (await titles.allTextContents()).sort().join('; ');
        const both = 'Say this: alpha, beta.; Say this: alpha, beta. (branch)';
        return found === both || Promise.reject(new Error(found));
      });
      await session.workbench.page.keyboard.press('Escape');
    }),
};

export const chatAttachCases: readonly Case[] = [symbols, explorer, terminal, branchAndMeter];
