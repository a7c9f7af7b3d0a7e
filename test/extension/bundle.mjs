// @ts-check
/** Bundles the suites into one file that an extension host can load. */
import path from 'node:path';
import { build } from 'esbuild';
import { root } from '../../scripts/lib/process.mjs';

/** @returns {Promise<string>} path of the bundle, which exports run() */
export async function bundleSuites() {
  const outfile = path.join(root, '.cache', 'extension-tests', 'index.js');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'index.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode', 'mocha'],
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  return outfile;
}
