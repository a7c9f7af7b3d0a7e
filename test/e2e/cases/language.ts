import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../until';
import { ChatView } from '../driver/chat_view';
import { translateWindow } from '../driver/display_language';
import { withScript } from '../scripted_model';
import type { Session } from '../session';
import type { Case } from '../suite';

const CODE = 'Here:\n\n```ts\nconst x = 1;\n```\n';
const NO_FILE = 'open the file that the code belongs to first.';

/** Every line that the extension logged in this session, in all its windows. */
function logged({ sandbox }: Session): string {
  const logs = join(sandbox.data, 'data', 'logs');
  const files = readdirSync(logs, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => /anllm\.anllm.*\.log$/.test(name))
    .map((name) => readFileSync(join(logs, name), 'utf8'))
    .join('\n');
}

export const languageCase: Case = {
  name: 'another display language: titles, the chat page and errors are in it, the log is not',
  run: async (session) => {
    const { workbench, sandbox } = session;
    const { page } = workbench;
    const undo = translateWindow(sandbox);
    try {
      await session.reload();
      await workbench.runCommand('anllm: ⟦Open Chat⟧');
      const chat = new ChatView(workbench);
      await chat.hasFocus();
      assert.match(
        (await page.locator('.pane-header').allTextContents()).join(),
        /⟦Chat⟧.*⟦Models⟧/,
      );
      await workbench.runCommand('anllm: ⟦New Chat⟧');
      await chat.frame.getByText('⟦Ask about your code⟧').waitFor();
      assert.equal(await chat.frame.locator('html').getAttribute('lang'), 'de');
      await withScript(session, async (model) => {
        model.says(CODE);
        await chat.frame.locator('.model', { hasText: 'scripted' }).waitFor();
        await chat.ask('Code, please');
        await chat.answered(1);
        await chat.answers.getByRole('button', { name: '⟦Insert at cursor⟧' }).click();
        await page.locator('.notification-toast', { hasText: `⟦${NO_FILE}⟧` }).waitFor();
        await session.screenshot('another display language');
      });
      await until('the log', () => {
        const line = logged(session).includes(`chat view, code: ${NO_FILE}`);
        return line || Promise.reject(new Error(logged(session).slice(-300)));
      });
      assert.ok(!logged(session).includes('⟦'));
    } finally {
      undo();
      await session.reload();
    }
  },
};
