// @ts-check
/** The zig compiler of the PyPI package `ziglang`, kept in .cache/: a C++ cross-compiler with its own headers. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { alone } from './alone.mjs';
import { Failure, hasCommand, mustSucceed, root } from './process.mjs';
import { installCommand, missingPackages } from './system-packages.mjs';

/** Pinned, because a package is to have the same bytes whoever builds it. */
export const zigVersion = '0.15.2';
const folder = path.join(root, '.cache', `zig-${zigVersion}`);

/** Object files and zig's own builds of the C++ library. */
const environment = {
  ZIG_GLOBAL_CACHE_DIR: path.join(root, '.cache', 'zig-objects'),
  ZIG_LOCAL_CACHE_DIR: path.join(root, '.cache', 'zig-objects'),
};

const executable = path.join(folder, 'ziglang', 'zig');

/** Installs the compiler once. */
export const ensureZig = () => alone(`${folder}.lock`, install);

async function install() {
  if (existsSync(executable)) return;
  const missing = missingPackages('cross');
  if (!hasCommand('python3') || missing.length > 0) {
    throw new Failure(
      `A package is compiled by zig, which comes through pip: ${missing.join(', ')} missing.\n` +
        `Install with: ${installCommand(missing)}`,
    );
  }
  console.log(`Installing zig ${zigVersion} (the Python package ziglang) into .cache/`);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  await mustSucceed('python3', [...pip, `--target=${folder}`, `ziglang==${zigVersion}`]);
}

/**
 * Runs the C++ compiler driver from the project's root.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export const zigCxx = (args, env = {}) =>
  mustSucceed(executable, ['c++', ...args], { env: { ...environment, ...env } });
