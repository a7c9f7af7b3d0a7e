import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Translation } from '../../extension/host/chat/html';
import { buildBundles } from '../../scripts/build/bundles.mjs';
import { serveChatPages, type ChatPages } from '../../scripts/lib/chat_page';

/** Pages of bundles that are built now, and deleted when the pages are closed. */
export async function openChatPages(translation?: Translation): Promise<ChatPages> {
  const folder = mkdtempSync(path.join(tmpdir(), 'anllm-page-'));
  await buildBundles({ folder });
  const pages = await serveChatPages(folder, translation);
  return {
    newPage: () => pages.newPage(),
    close: async () => {
      await pages.close();
      rmSync(folder, { recursive: true });
    },
  };
}
