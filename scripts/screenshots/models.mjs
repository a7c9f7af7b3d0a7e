// @ts-check
/** The pictures of the models that suit a computer, and of the walkthrough. */

/** @typedef {import('../../test/e2e/session').Session} Session */

/** @param {Session} session */
export async function showModels(session) {
  const { workbench } = session;
  const { page } = workbench;
  await workbench.closeEditors();
  await workbench.runCommand('anllm: Focus on Models View');
  await page.locator('.pane .monaco-list-row', { hasText: 'Recommended' }).waitFor();
  // The whole bar for the models.
  await page.locator('.pane-header[aria-expanded=true]', { hasText: 'Chat' }).click();
  await workbench.runCommand('anllm: Download Model');
  await page.locator('.quick-input-list .monaco-list-row').first().waitFor();
  // Dragged off the view, by its title.
  await page.mouse.move(600, 12);
  await page.mouse.down();
  await page.mouse.move(820, 90, { steps: 8 });
  await page.mouse.up();
  await page.mouse.move(600, 650); // no tooltip
  await settle(page);
}

/** @param {Session} session */
export async function showWalkthrough(session) {
  const { workbench } = session;
  const { page } = workbench;
  await page.keyboard.press('Escape');
  await workbench.closeEditors();
  await page.keyboard.press('Control+B');
  await workbench.runCommand('anllm: Get Started');
  await page.locator('.getting-started-step.expanded').waitFor();
  await settle(page);
}

/**
 * Waits for what fades in.
 * @param {import('playwright-core').Page} page
 */
export async function settle(page) {
  await page.evaluate(`Promise.all(
    document.getAnimations()
      .filter((animation) => animation.effect.getComputedTiming().iterations !== Infinity)
      .map((animation) => animation.finished),
  ).then(() => null)`);
}
