// @ts-check
/** The picture of an inline edit, waiting for the user's word. The rewrite is a written one: the picture shows the editor. */

const file = {
  name: 'invoice.ts',
  text: `interface Item {
  readonly price: number;
  readonly count: number;
}

export function total(items: readonly Item[]): number {
  let sum = 0;█
  for (const item of items) {
    sum += item.price * item.count;
  }
  return sum;
}
`,
};
const instruction = 'Leave out items without a count, and use reduce';
const rewrite = `\`\`\`typescript
export function total(items: readonly Item[]): number {
  return items
    .filter(({ count }) => count > 0)
    .reduce((sum, { price, count }) => sum + price * count, 0);
}
\`\`\``;

/**
 * @param {import('../../test/e2e/session').Session} session
 * @param {() => Promise<void>} take
 */
export async function showEdit(session, take) {
  const { startEdit } = await import('../../test/e2e/cases/inline_edit');
  const { withScript } = await import('../../test/e2e/scripted_model');
  const { page } = session.workbench;
  await session.workbench.closeEditors();
  session.sandbox.configure({ 'workbench.editor.editorActionsLocation': 'default' });
  await withScript(session, async (model) => {
    model.says(rewrite);
    await session.open(file.name, file.text);
    await startEdit(session, instruction);
    await page.locator('.editor-actions [aria-label^="Keep Edit"]').waitFor();
    await page
      .locator('.notifications-toasts .notification-list-item')
      .first()
      .waitFor({ state: 'hidden' });
    await take();
  });
}
