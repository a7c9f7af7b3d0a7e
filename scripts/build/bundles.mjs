// @ts-check
/**
 * The JavaScript of the extension: CommonJS for the host, which is in pieces, and for the engine child and the command
 * line, one file each; and the page of the chat view.
 */
import { chmodSync, existsSync } from 'node:fs';
import path from 'node:path';
import { Failure, root } from '../lib/process.mjs';
import { oneFileAtStart, writeAsCommonJs } from './pieces.mjs';
import { vscodeApi } from './vscode-api.mjs';

/**
 * @typedef {object} BundleOptions
 * @property {boolean} [minify] for a package; minified bundles have no source maps
 * @property {string} [folder] default: dist/
 */

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const nodeSettings = ({ minify = false, folder = path.join(root, 'dist') }) => ({
  absWorkingDir: root,
  outdir: folder,
  bundle: true,
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  minify,
  legalComments: 'none',
  logLevel: 'warning',
});

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const engineSettings = ({ minify = false, folder = path.join(root, 'dist') }) => ({
  ...nodeSettings({ minify, folder }),
  entryPoints: { engine: 'extension/engine/main.ts', cli: 'extension/engine/cli.ts' },
  format: 'cjs',
  sourcemap: minify ? false : 'linked',
  plugins: [executableCli(folder)],
});

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const hostSettings = ({ minify = false, folder = path.join(root, 'dist') }) => {
  const entry = path.join(root, 'extension/host/main.ts');
  return {
    ...nodeSettings({ minify, folder }),
    entryPoints: { host: entry },
    format: 'esm',
    splitting: true,
    chunkNames: 'host/[name]-[hash]',
    write: false,
    sourcemap: minify ? false : 'inline',
    plugins: [oneFileAtStart(entry), writeAsCommonJs(path.join(folder, 'host')), vscodeApi],
  };
};

/**
 * @param {BundleOptions} options
 * @returns {import('esbuild').BuildOptions}
 */
const pageSettings = ({ minify = false, folder = path.join(root, 'dist') }) => ({
  absWorkingDir: root,
  // The page asks for the second one after its first paint; split by esbuild, both would wait for a third.
  entryPoints: { chat: 'webview/main.tsx', markdown: 'webview/markdown.ts' },
  external: ['./markdown.js'],
  outdir: path.join(folder, 'webview'),
  bundle: true,
  platform: 'browser',
  target: 'es2023',
  format: 'esm',
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
const bundles = (options) => [
  hostSettings(options),
  engineSettings(options),
  pageSettings(options),
];

/** @param {BundleOptions} options */
export async function buildBundles(options) {
  const { build } = await import('esbuild');
  // esbuild has written its own messages by then.
  await Promise.all(bundles(options).map(build)).catch(() => {
    throw new Failure('The bundles cannot be built: see the messages above');
  });
}

/** Rebuilds on every change until the process ends. */
export async function watchBundles() {
  const { context } = await import('esbuild');
  for (const options of bundles({})) {
    const watching = await context({ ...options, logLevel: 'info' });
    await watching.watch();
  }
}
