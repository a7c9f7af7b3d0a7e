// @ts-check
/** npm run icon: draws extension/assets/icon.png (128 x 128, as the Marketplace wants it) from icon.svg by Chromium. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from './vscode-lab/chromium.mjs';
import { root } from './lib/process.mjs';

const { path: executablePath, env } = await findChromium(console.log);
const browser = await chromium.launch({
  executablePath,
  env: { ...process.env, ...env },
  args: ['--no-sandbox'],
});
const page = await browser.newPage({ viewport: { width: 128, height: 128 } });
const svg = readFileSync(path.join(root, 'scripts', 'icon.svg'), 'utf8');
await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`);
await page.screenshot({
  path: path.join(root, 'extension', 'assets', 'icon.png'),
  omitBackground: true,
});
await browser.close();
