// @ts-check
/**
 * A bundle in pieces: what stands behind `import()` becomes a file of its own, which Node reads when it is wanted.
 * esbuild splits ES modules only; VS Code starts CommonJS sooner, for it waits for no other extension in between.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const PIECE = 'piece';

/**
 * Code that pieces share with the start would be cut into a file for every set of pieces that needs it. So each piece
 * imports the entry point, which runs by then: all that the start needs is in one set, and in one file.
 * @param {string} entry absolute path of the entry point
 * @returns {import('esbuild').Plugin}
 */
export const oneFileAtStart = (entry) => ({
  name: 'one-file-at-start',
  setup(build) {
    build.onResolve({ filter: /^\./ }, async ({ path: specifier, pluginData, ...from }) => {
      if (from.kind !== 'dynamic-import' || pluginData === PIECE) return undefined;
      const { kind, importer, resolveDir } = from;
      const options = { kind, importer, resolveDir, pluginData: PIECE };
      return { ...(await build.resolve(specifier, options)), pluginData: PIECE };
    });
    build.onLoad({ filter: /\.ts$/ }, ({ path: file, pluginData }) => {
      if (pluginData !== PIECE) return undefined;
      const contents = `${readFileSync(file, 'utf8')}\nimport ${JSON.stringify(entry)};\n`;
      return { contents, loader: 'ts', resolveDir: path.dirname(file) };
    });
  },
});

/**
 * Writes the ES modules of a build with `write: false` as CommonJS.
 * @param {string} chunks folder of the pieces, which is emptied first: their names change with what is in them
 * @returns {import('esbuild').Plugin}
 */
export const writeAsCommonJs = (chunks) => ({
  name: 'write-as-commonjs',
  setup(build) {
    const { minify = false, target = 'esnext' } = build.initialOptions;
    build.onEnd(async ({ errors, outputFiles = [] }) => {
      if (errors.length > 0) return;
      rmSync(chunks, { recursive: true, force: true });
      for (const { path: file, text } of outputFiles) {
        const { code } = await build.esbuild.transform(text, {
          format: 'cjs',
          platform: 'node',
          target,
          minify,
          sourcemap: minify ? false : 'inline',
          sourcefile: file,
          // `import()` of a CommonJS file would go through the loader of ES modules.
          supported: { 'dynamic-import': false },
        });
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, code);
      }
    });
  },
});
