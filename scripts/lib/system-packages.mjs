// @ts-check
/** Which system packages are missing, and the command that installs them. `node <this file>` prints the missing ones. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { hasCommand, isMain } from './process.mjs';

/** @typedef {'build' | 'cross' | 'arm64' | 'metal' | 'e2e'} Group */
/** @typedef {{ name: string, command?: string, file?: string }} SystemPackage */

/**
 * The Debian packages that the project uses; a package is there when its command is on the PATH or its file exists.
 * @type {Record<Group, SystemPackage[]>}
 */
const groups = JSON.parse(
  readFileSync(path.join(import.meta.dirname, 'system-packages.json'), 'utf8'),
);

/** @param {SystemPackage} entry */
const isPresent = (entry) =>
  entry.command !== undefined ? hasCommand(entry.command) : existsSync(entry.file ?? '');

/**
 * Names of the Debian packages of these groups that are not there.
 * @param {...Group} wanted
 */
export function missingPackages(...wanted) {
  return wanted
    .flatMap((group) => groups[group])
    .filter((entry) => !isPresent(entry))
    .map((entry) => entry.name);
}

/**
 * The command to type for packages that are missing, for the platform at hand.
 * @param {readonly string[]} names
 */
export function installCommand(names) {
  if (process.platform === 'darwin') return 'xcode-select --install';
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  return `${sudo}apt-get update && ${sudo}apt-get install -y ${names.join(' ')}`;
}

if (isMain(import.meta.filename)) {
  const all = /** @type {Group[]} */ (Object.keys(groups));
  process.stdout.write(missingPackages(...all).join(' '));
}
