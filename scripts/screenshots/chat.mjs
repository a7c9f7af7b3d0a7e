// @ts-check
/** The picture of the chat: a question about the selection. The answer is a written one: the picture shows the view. */

const file = {
  name: 'invoice.ts',
  text: `interface Item {
  readonly price: number;
  readonly count?: number;
}

export function total(items: readonly Item[]): number {
  return items.reduce((sum, item) => {█
    return sum + item.price * item.count;
  }, 0);
}

export function average(items: readonly Item[]): number {
  return total(items) / items.length;
}
`,
};
const question = 'Why is the total sometimes NaN?';
/** Of as many lines as the answer: a model takes its time before the second half. */
const thoughts = `The function adds price times count.
${'The count is optional, and undefined times a number is NaN.\n'.repeat(20)}`;
const answer = `\`count\` is optional: where an item has none, \`item.price * undefined\` is \`NaN\`, and so is
every sum after it.

Count such an item once:

\`\`\`typescript
export function total(items: readonly Item[]): number {
  return items.reduce(
    (sum, { price, count = 1 }) =>
      sum + price * count,
    0,
  );
}
\`\`\`

If **no** count means that the item is not sold, take \`count = 0\` instead.`;

/**
 * @param {import('../../test/e2e/session').Session} session
 * @param {() => Promise<void>} take
 */
export async function showChat(session, take) {
  const { ChatView } = await import('../../test/e2e/driver/chat_view');
  const { withScript } = await import('../../test/e2e/scripted_model');
  const { page } = session.workbench;
  await session.workbench.closeEditors();
  await withScript(
    session,
    async (model) => {
      model.says(`<think>${thoughts}\n</think>\n${answer}`, { hold: true });
      await session.open(file.name, file.text);
      for (const key of ['ArrowUp', 'Home']) await page.keyboard.press(key);
      for (let line = 0; line < 5; line++) await page.keyboard.press('Shift+ArrowDown');
      await session.workbench.runCommand('anllm: Add Selection to Chat');
      const chat = new ChatView(session.workbench);
      await chat.open();
      await chat.ask(question);
      await chat.answers.locator('.thoughts').waitFor();
      await page.waitForTimeout(2400);
      model.goOn();
      await chat.answered(1);
      await take();
    },
    'example-model',
  );
}
