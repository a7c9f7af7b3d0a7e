// @ts-check
/**
 * 'vscode' as one module of named exports. Bundled as it is, every file that imports it would copy the whole API, some
 * hundred properties, when the extension is activated.
 */
import { readFileSync } from 'node:fs';
import { listFiles } from '../lib/content-hash.mjs';

/** What the sources take from it; of types nothing is left at run time. @returns {string[]} */
function usedNames() {
  const names = listFiles('extension/host', /\.ts$/).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bvscode\.(\w+)/g)].map(([, name = '']) => name),
  );
  return [...new Set(names)].sort();
}

/** @type {import('esbuild').Plugin} */
export const vscodeApi = {
  name: 'vscode-api',
  setup(build) {
    build.onResolve({ filter: /^vscode$/ }, () => ({ path: 'vscode', namespace: 'vscode-api' }));
    build.onLoad({ filter: /^/, namespace: 'vscode-api' }, () => ({
      // Through a name, so that it stays a call of the extension host's own require.
      contents: [
        `const load = require;`,
        `const api = load('vscode');`,
        ...usedNames().map((name) => `export const ${name} = api.${name};`),
      ].join('\n'),
      loader: 'js',
    }));
  },
};
