import { until } from '../../until';
import type { Case } from '../suite';

export const walkthroughCase: Case = {
  name: 'the walkthrough: its first step ends with a completion taken, and is ticked',
  run: async (session) => {
    const { workbench, editor } = session;
    const { page } = workbench;
    await workbench.runCommand('anllm: Get Started');
    const steps = page.locator('.gettingStartedContainer .getting-started-step');
    await steps.first().waitFor();
    await session.screenshot('walkthrough');
    const ticked = page.locator(
      '.gettingStartedContainer .codicon-getting-started-step-checked[data-done-step-id$="#complete"]',
    );
    await page.getByRole('button', { name: 'Try a Completion' }).click();
    // The first completion starts the engine.
    await editor.waitForGhostText(30_000);
    await session.screenshot('walkthrough: a completion');
    await editor.press('Tab');
    await until('the function', async () =>
      (await editor.lines()).some((line) => /return a - b/.test(line)),
    );
    await workbench.runCommand('View: Revert and Close Editor');
    await workbench.runCommand('anllm: Get Started');
    await ticked.first().waitFor();
    for (const title of ['Get a larger model', 'Ask about your code', 'Keys and privacy']) {
      await steps.filter({ hasText: title }).locator('.step-title').first().click();
      await page.locator('.getting-started-step.expanded', { hasText: title }).waitFor();
      await session.screenshot(`walkthrough: ${title}`);
    }
  },
};
