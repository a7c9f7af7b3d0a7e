// @ts-check
import { mkdir } from 'node:fs/promises';
import { mustSucceed } from '../lib/process.mjs';

const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Runs npm in a folder with a package tree of its own, quietly.
 * @param {string} dir
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env] added to the current environment
 */
export const npm = (dir, args, env = {}) =>
  mustSucceed('npm', [...args, '--prefix', dir, ...quiet], { cwd: dir, env });

/**
 * Installs packages (none named: those of package.json) without running their scripts.
 * @param {string} dir
 * @param {readonly string[]} [packages]
 */
export async function npmInstall(dir, packages = []) {
  await mkdir(dir, { recursive: true });
  const what = packages.length > 0 ? [...packages, '--no-save'] : ['--omit=dev'];
  await npm(dir, ['install', ...what, '--ignore-scripts']);
}
