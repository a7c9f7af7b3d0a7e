// @ts-check
/** Makes the pictures of README and docs in a real VS Code. usage: npm run screenshots [-- --vsix FILE] [--only completion|chat|edit|models] */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { register } from 'tsx/esm/api';
import { parseTarget } from './cross-build.mjs';
import { ensureSmolLm } from './lib/smollm.mjs';
import { Failure, root, runMain } from './lib/process.mjs';
import { packageExtension } from './package.mjs';
import { codeFont, fontPackages, useFonts, useFontsInPage } from './screenshots/fonts.mjs';
import { showChat } from './screenshots/chat.mjs';
import { showEdit } from './screenshots/edit.mjs';
import { settle, showModels, showWalkthrough } from './screenshots/models.mjs';
import { pngPackages, withPalette } from './screenshots/png.mjs';
import { sample } from './screenshots/sample.mjs';
import { cache } from './vscode-lab/lab.mjs';
import { npmInstall } from './vscode-lab/npm.mjs';
import { setupVsCodeLab } from './vscode-lab/setup.mjs';

const maxBytes = 200 * 1024;

/** @typedef {import('../test/e2e/session').Session} Session */

/** A window without what the pictures are not about. */
const settings = {
  'breadcrumbs.enabled': false,
  'editor.cursorBlinking': 'solid',
  'editor.fontFamily': codeFont,
  'editor.fontSize': 17,
  'editor.guides.indentation': false,
  'editor.hideCursorInOverviewRuler': true,
  'editor.lightbulb.enabled': 'off',
  'editor.lineHeight': 1.7,
  'editor.matchBrackets': 'never',
  'editor.occurrencesHighlight': 'off',
  'editor.overviewRulerBorder': false,
  'editor.padding.top': 14,
  'editor.scrollbar.vertical': 'hidden',
  'editor.stickyScroll.enabled': false,
  'javascript.validate.enable': false,
  'typescript.validate.enable': false,
  'window.commandCenter': false,
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.editor.editorActionsLocation': 'hidden',
  'workbench.layoutControl.enabled': false,
};

/** The pages show the dark ones; all three are looked at when the style changes. */
const themes = {
  '': { theme: 'Default Dark Modern', kind: 'vs-dark' },
  '-light': { theme: 'Default Light Modern', kind: 'vs' },
  '-high-contrast': { theme: 'Default High Contrast', kind: 'hc-black' },
};

/** Status bar items of this machine and of other extensions. */
const hideUnrelated = `
  .activitybar .badge, .monaco-sash,
  .statusbar-item:is([id^="status.host"], [id^="status.forwardedPorts"], [id*="keyboardLayout"], [id="status.languageStatus"],
    [id^="status.notifications"], [id^="chat."]) { display: none !important; }`;

await runMain(async (args) => {
  const options = /** @type {const} */ ({
    vsix: { type: 'string' },
    only: { type: 'string', default: '' },
  });
  const { values } = parseArgs({ args, options });
  /** @param {string} name */
  const isWanted = (name) => values.only === '' || values.only === name;
  const lab = await setupVsCodeLab();
  const tools = path.join(cache, 'screenshots');
  const modules = path.join(tools, 'node_modules');
  await npmInstall(tools, [...fontPackages, ...pngPackages]);
  const target = parseTarget(`${process.platform}-${process.arch}`);
  const vsix = values.vsix ?? (await packageExtension(target, path.join(tools, `${target}.vsix`)));
  register();
  const { Session } = await import('../test/e2e/session');
  const model = await ensureSmolLm();
  const session = await Session.start(lab, vsix, {
    settings: {
      ...settings,
      'anllm.chat.model': model,
      'anllm.chat.temperature': 0,
      'anllm.chat.maxTokens': 98,
    },
    size: { width: 1200, height: 720 },
    scale: 2,
  });
  try {
    const { page } = session.workbench;
    await useFonts(page, modules);
    useFontsInPage(session.sandbox.extensions, modules);
    await widenSideBar(page);
    await page.addStyleTag({ content: hideUnrelated });
    /** @param {string} name */
    const inAllThemes = (name) =>
      inThemes(session, (suffix) => save(`${name}${suffix}`, page, modules));
    await page.keyboard.press('Control+B');
    if (isWanted('edit')) await showEdit(session, () => inAllThemes('edit'));
    if (isWanted('completion')) {
      await showCompletion(session);
      await save('completion', page, modules);
    }
    if (isWanted('chat')) await showChat(session, () => inAllThemes('chat'));
    if (isWanted('models')) {
      await showModels(session);
      await inAllThemes('models');
      await showWalkthrough(session);
      await save('walkthrough', page, modules);
    }
  } finally {
    await session.stop();
  }
});

/**
 * Takes a picture in each theme.
 * @param {Session} session
 * @param {(suffix: string) => Promise<void>} take
 */
async function inThemes(session, take) {
  const { page } = session.workbench;
  const colour = 'workbench.colorTheme';
  for (const [suffix, { theme, kind }] of Object.entries(themes)) {
    session.sandbox.configure({ [colour]: theme });
    await page.locator(`.monaco-workbench.${kind}`).waitFor();
    await settle(page);
    await take(suffix);
  }
  session.sandbox.configure({ [colour]: undefined });
  await page.locator(`.monaco-workbench.${themes[''].kind}`).waitFor();
}

/**
 * Drags the edge of the side bar, before it is hidden.
 * @param {import('playwright-core').Page} page
 */
async function widenSideBar(page) {
  const box = await page.locator('.part.sidebar').boundingBox();
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) + 2, 300];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 110, y, { steps: 5 });
  await page.mouse.up();
}

/** @param {Session} session */
async function showCompletion(session) {
  const { page } = session.workbench;
  await session.open(sample.name, sample.text);
  for (let line = 0; line < 10; line++) await page.keyboard.press('Control+ArrowUp'); // scrolls
  await page.keyboard.press('Enter');
  await session.editor.waitForGhostText();
  await session.settled();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Alt+\\'); // all of it, should a slow machine have shown the first line early
  await session.editor.waitForGhostText();
}

/** @param {string} name @param {import('playwright-core').Page} page @param {string} modules */
async function save(name, page, modules) {
  await page.locator('.statusbar .codicon-loading').first().waitFor({ state: 'hidden' });
  await page.evaluate('document.fonts.ready.then(() => null)');
  const picture = path.join(root, 'docs', 'images', `${name}.png`);
  const png = withPalette(await page.screenshot(), modules);
  if (png.length > maxBytes) {
    throw new Failure(`${picture} would have ${png.length} bytes; at most ${maxBytes}`);
  }
  mkdirSync(path.dirname(picture), { recursive: true });
  writeFileSync(picture, png);
  console.log(`${picture} (${Math.round(png.length / 1024)} kB)`);
}
