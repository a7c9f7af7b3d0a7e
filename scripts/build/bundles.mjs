// @ts-check
/**
 * The JavaScript of the extension: one CommonJS file each for the host, the engine child and the command line, and the
 * page of the chat view.
 */
import { chmodSync, existsSync } from 'node:fs';
import path from 'node:path';
import { Failure, root } from '../lib/process.mjs';
import { vscodeApi } from './vscode-api.mjs';

const entryPoints = {
  host: 'extension/host/main.ts',
  engine: 'extension/engine/main.ts',
  cli: 'extension/engine/cli.ts',
};

/**
 * @typedef {object} BundleOptions
 * @property {boolean} [minify] for a package; minified bundles have no source maps
 * @property {string} [folder] default: dist/
 */

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const settings = ({ minify = false, folder = path.join(root, 'dist') }) => ({
  absWorkingDir: root,
  entryPoints,
  outdir: folder,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  mainFields: ['module', 'main'],
  minify,
  sourcemap: minify ? false : 'linked',
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [executableCli(folder), vscodeApi],
});

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const pageSettings = ({ minify = false, folder = path.join(root, 'dist') }) => ({
  absWorkingDir: root,
  entryPoints: { chat: 'webview/main.tsx' },
  outdir: path.join(folder, 'webview'),
  bundle: true,
  platform: 'browser',
  target: 'es2023',
  format: 'iife',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // The icon font stands beside the style sheet.
  loader: { '.ttf': 'file' },
  assetNames: '[name]',
  minify,
  // The page may load nothing else, a source map included.
  sourcemap: false,
  legalComments: 'none',
  logLevel: 'warning',
});

/**
 * cli.js is the package's `bin`; esbuild keeps its #! line but not the mode.
 * @param {string} folder
 * @returns {import('esbuild').Plugin}
 */
const executableCli = (folder) => ({
  name: 'executable-cli',
  setup(build) {
    const cli = path.join(folder, 'cli.js');
    build.onEnd(() => {
      if (existsSync(cli)) chmodSync(cli, 0o755);
    });
  },
});

/** @param {BundleOptions} options */
export async function buildBundles(options) {
  const { build } = await import('esbuild');
  // esbuild has written its own messages by then.
  await Promise.all([build(settings(options)), build(pageSettings(options))]).catch(() => {
    throw new Failure('The bundles cannot be built: see the messages above');
  });
}

/** Rebuilds on every change until the process ends. */
export async function watchBundles() {
  const { context } = await import('esbuild');
  for (const options of [settings({}), pageSettings({})]) {
    const watching = await context({ ...options, logLevel: 'info' });
    await watching.watch();
  }
}
