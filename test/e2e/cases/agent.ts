import { join } from 'node:path';
import { cache } from '../../../scripts/vscode-lab/lab.mjs';
import { until } from '../../until';
import { AGENT_CONTEXT, writeAgentModel } from '../template_models';
import type { Case } from '../suite';

/** What the model looks for, and where it stands. */
const WORD = 'wombatBurrow';

export const agentCase: Case = {
  name: 'VS Code’s own agent runs on the chat model: it calls a tool, and answers with what that found',
  run: async (session) => {
    const { workbench, sandbox } = session;
    const { page } = workbench;
    sandbox.write('burrow.ts', `export const ${WORD} = 1;\n`);
    const model = writeAgentModel(join(cache, 'e2e', 'agent-model'), 'anllm_search_code', {
      text: WORD,
    });
    sandbox.configure({
      'anllm.chat.model': model,
      'anllm.chat.contextLength': AGENT_CONTEXT,
    });
    try {
      await workbench.runCommand("anllm: Use anllm for VS Code's Own Chat");
      const consent = page.locator('.monaco-dialog-box .monaco-button', {
        hasText: 'Change settings',
      });
      await consent.click();
      const chat = page.locator('.interactive-session');
      await chat.locator('.chat-editor-container .view-lines').first().click();
      // VS Code goes on with the participant that was asked last.
      await page.keyboard.press('Control+A');
      await page.keyboard.press('Delete');
      await page.keyboard.insertText('Where is the burrow?');
      await page.keyboard.press('Enter');
      const response = chat.locator('.interactive-response').last();
      const found = async (): Promise<boolean> => {
        const text = (await response.textContent()) ?? '';
        return /Found: burrow\.ts:1/.test(text) || Promise.reject(new Error(text));
      };
      await until('the answer', found, 60_000);
      await session.screenshot('agent');
      await workbench.runCommand('View: Toggle Secondary Side Bar Visibility');
    } finally {
      sandbox.configure({ 'anllm.chat.model': undefined, 'anllm.chat.contextLength': undefined });
    }
  },
};
