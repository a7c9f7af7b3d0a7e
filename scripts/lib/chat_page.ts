/** The page of the chat view in a browser, without VS Code: for measurements and tests. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { chatPage, type Translation } from '../../extension/host/chat/html';
import type { FromView, ToView } from '../../extension/protocol/chat_view';
import { findChromium } from '../vscode-lab/chromium.mjs';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  css: 'text/css',
  ttf: 'font/ttf',
};

/** The API of a webview, which keeps what was sent to the host, and the helper that the transpiler of scripts and tests puts around named functions. */
const STUBS = `
  globalThis.__name = (value) => value;
  globalThis.posted = [];
  globalThis.acquireVsCodeApi = () => ({
    postMessage: (message) => posted.push(message), getState() {}, setState() {},
  });`;

export interface ChatPages {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** @param bundles folder that `buildBundles` wrote to */
export async function serveChatPages(
  bundles: string,
  translation?: Translation,
): Promise<ChatPages> {
  const server = await startServer(bundles, translation);
  const { path, env } = await findChromium(console.error);
  const browser = await chromium.launch({
    executablePath: path,
    env: { ...process.env, ...env },
    args: ['--no-sandbox'],
  });
  return {
    newPage: async () => {
      const page = await browser.newPage({ viewport: { width: 420, height: 900 } });
      await page.addInitScript({ content: STUBS });
      await page.goto(server.url);
      // Its first word: from now on it hears messages.
      await page.waitForFunction('posted.length > 0');
      return page;
    },
    close: async () => {
      await browser.close();
      server.stop();
    },
  };
}

export const send = (page: Page, message: ToView): Promise<void> =>
  page.evaluate((data) => window.postMessage(data, '*'), message as unknown);

/** What the page sent to the host, in order. */
export const sent = (page: Page): Promise<FromView[]> => page.evaluate<FromView[]>('posted');

function startServer(
  bundles: string,
  translation: Translation | undefined,
): Promise<{ url: string; stop: () => void }> {
  const page = chatPage({
    script: '/chat.js',
    style: '/chat.css',
    cspSource: "'self'",
    nonce: 'n',
    translation,
  });
  const server = createServer(({ url = '/' }, response) => {
    const name = url.slice(1).replace(/\?.*$/, '');
    const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'text/html';
    response.writeHead(200, { 'Content-Type': type });
    response.end(name === '' ? page : readFileSync(join(bundles, 'webview', name)));
  });
  return new Promise((ready) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      ready({ url: `http://127.0.0.1:${port}/`, stop: () => server.close() });
    });
  });
}
