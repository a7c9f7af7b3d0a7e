// @ts-check
/**
 * Layout: prettier for TypeScript, JavaScript, JSON, YAML and Markdown, clang-format for C++ and Metal.
 * usage: format.mjs [--write]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from '@wasm-fmt/clang-format';
import { listFiles } from '../lib/content-hash.mjs';
import { messageOf, nodeModule, root, run } from '../lib/process.mjs';

const write = process.argv.includes('--write');

/** @returns {string[]} files whose layout differs from .clang-format's; with --write they are put right */
function clangFormat() {
  const style = readFileSync(path.join(root, '.clang-format'), 'utf8');
  const files = ['native', 'metal', 'test'].flatMap((folder) =>
    listFiles(folder, /\.(cpp|h|mm|metal)$/),
  );
  return files.filter((file) => {
    const absolute = path.join(root, file);
    const text = readFileSync(absolute, 'utf8');
    try {
      // Metal is read as the C++ that it is based on.
      const formatted = format(text, file.replace(/\.(metal|h)$/, '.cpp'), style);
      if (formatted !== text && write) writeFileSync(absolute, formatted);
      return formatted !== text;
    } catch (error) {
      throw new Error(`${file}: ${messageOf(error)}`, { cause: error });
    }
  });
}

const prettierCode = await run(process.execPath, [
  nodeModule('prettier/bin/prettier.cjs'),
  '--log-level=warn',
  '--cache',
  '--cache-location=.cache/prettier',
  write ? '--write' : '--check',
  '.',
]);
const changed = clangFormat();
if (!write) {
  for (const file of changed) console.error(`${file}: layout differs from .clang-format`);
  if (changed.length > 0 || prettierCode !== 0) console.error('Put right with: npm run format');
}
process.exitCode = prettierCode !== 0 || (!write && changed.length > 0) ? 1 : 0;
