// @ts-check
/** Brings node_modules up to date with package-lock.json when it is not. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Failure, root, run } from './process.mjs';

/** @typedef {{ packages: Record<string, { version?: string, optional?: boolean }> }} Lockfile */

/** @param {string} file @returns {Lockfile['packages']} */
const readPackages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/** What is installed differs from the lock file in a package that every machine needs. */
function isStale() {
  const installedFile = path.join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return true;
  const installed = readPackages(installedFile);
  return Object.entries(readPackages(path.join(root, 'package-lock.json'))).some(
    ([name, entry]) =>
      name !== '' && entry.optional !== true && installed[name]?.version !== entry.version,
  );
}

export async function ensureDependencies() {
  if (!isStale()) return;
  console.log('Installing the npm packages of package-lock.json (npm ci)');
  const code = await run('npm', ['ci', '--no-fund', '--no-audit']);
  if (code !== 0) {
    throw new Failure(`npm ci: exit code ${code}. Is the npm registry reachable from here?`);
  }
}
