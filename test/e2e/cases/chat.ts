import assert from 'node:assert/strict';
import type { Case } from '../suite';
import { SUBTRACT } from './samples';

export const chatCase: Case = {
  name: 'typing into the chat input sends no request',
  run: async (session) => {
    const { page } = session.workbench;
    // An engine that does not run yet would send nothing either.
    await session.open('before-chat.ts', SUBTRACT);
    await session.editor.type('ret');
    await session.editor.waitForGhostText();
    const { requests } = await session.settled();
    await page.keyboard.press('Control+Alt+I');
    const input = page.locator('.interactive-session .chat-editor-container .view-lines');
    await input.click();
    await session.editor.type('function add(a, b) { return a', 60);
    await session.staysQuiet(requests);
    assert.match((await input.textContent()) ?? '', /function/);
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await session.workbench.runCommand('View: Toggle Secondary Side Bar Visibility');
    await session.open('after-chat.ts', SUBTRACT);
    await session.editor.type('ret');
    await session.editor.waitForGhostText();
  },
};
