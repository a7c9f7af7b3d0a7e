// @ts-check
/**
 * npm run l10n: writes extension/l10n/bundle.l10n.json, the texts of the extension and of its page that translators
 * start from. The manifest's texts are package.nls.json. See docs/translating.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { getL10nJson } from '@vscode/l10n-dev';
import { format, resolveConfig } from 'prettier';
import { listFiles } from './lib/content-hash.mjs';
import { isMain, root, runMain } from './lib/process.mjs';

export const bundleFile = path.join(root, 'extension', 'l10n', 'bundle.l10n.json');

/** @returns {Promise<string>} the file as the sources say it is, sorted so that a moved line changes nothing */
export async function exportTexts() {
  const files = ['extension/host', 'webview'].flatMap((folder) => listFiles(folder, /\.tsx?$/));
  const texts = await getL10nJson(
    files.map((file) => ({
      contents: readFileSync(path.join(root, file), 'utf8'),
      extension: path.extname(file),
    })),
  );
  const sorted = Object.fromEntries(Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1)));
  const options = await resolveConfig(bundleFile);
  return await format(JSON.stringify(sorted), { ...options, filepath: bundleFile });
}

if (isMain(import.meta.filename)) {
  void runMain(async () => {
    mkdirSync(path.dirname(bundleFile), { recursive: true });
    writeFileSync(bundleFile, await exportTexts());
  });
}
