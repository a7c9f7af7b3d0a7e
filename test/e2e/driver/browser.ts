import { fileURLToPath } from 'node:url';
import { type Browser, type Page, chromium } from 'playwright-core';
import type { Lab } from '../../../scripts/vscode-lab/lab.mjs';

const FLAGS = [
  '--no-sandbox', // a container often runs as root
  '--disable-background-networking',
  '--disable-component-update',
];

export async function launchBrowser(lab: Lab): Promise<Browser> {
  const { path, env } = lab.chromium;
  return await chromium.launch({
    executablePath: path,
    args: FLAGS,
    env: { ...cleanEnvironment(), ...env },
  });
}

/** A page of a fresh browser profile that carries the in-page helpers. */
export async function newPage(
  browser: Browser,
  size = { width: 1400, height: 900 },
  scale = 1,
): Promise<Page> {
  const context = await browser.newContext({
    viewport: size,
    deviceScaleFactor: scale,
    // As on a desktop, where nobody is asked.
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await context.addInitScript({ path: fileURLToPath(new URL('in-page.mjs', import.meta.url)) });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  return page;
}

function cleanEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}
