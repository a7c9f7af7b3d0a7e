// @ts-check
/** Up-to-date checks by content, so that a checkout or a copy with fresh time stamps is no reason to build. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { alone } from './alone.mjs';
import { root } from './process.mjs';

/**
 * Files below a folder of the project, as sorted paths relative to the root with forward slashes; [] when it does not exist.
 * @param {string} folder
 * @param {RegExp} pattern
 */
export function listFiles(folder, pattern) {
  const absolute = path.join(root, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .sort();
}

/**
 * SHA-256 over the given words and the names and bytes of the given files (relative to the root).
 * @param {readonly string[]} words
 * @param {readonly string[]} files
 */
export function contentHash(words, files) {
  const hash = createHash('sha256').update(JSON.stringify(words));
  for (const file of files) {
    hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

/**
 * Runs `make` unless `output` exists and was made from the same hash. The hash lies in .cache/stamps/. Processes that want
 * the same output at the same time get it from the first of them.
 * @param {string} output path relative to the root
 * @param {string} hash
 * @param {() => Promise<void>} make
 * @returns {Promise<boolean>} whether it ran
 */
export async function makeIfChanged(output, hash, make) {
  const stamp = path.join(root, '.cache', 'stamps', `${output.replaceAll('/', '_')}.sha256`);
  const isCurrent = () =>
    existsSync(path.join(root, output)) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === hash;
  if (isCurrent()) return false;
  return alone(`${stamp}.lock`, async () => {
    if (isCurrent()) return false;
    await make();
    mkdirSync(path.dirname(stamp), { recursive: true });
    writeFileSync(stamp, hash);
    return true;
  });
}
