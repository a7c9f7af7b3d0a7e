// @ts-check
/**
 * npm run package -- --target linux-x64|linux-arm64|darwin-arm64 [--out FILE]
 * Makes the .vsix of one platform: minified bundles, one prebuilt addon, the assets and the texts. They are staged in
 * .cache/, so that dist/ stays as it is.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildBundles } from './build/bundles.mjs';
import { crossBuild, parseTarget, prebuildPath } from './cross-build.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { Failure, isMain, mustSucceed, nodeModule, root, runMain } from './lib/process.mjs';

/** An extension that is larger is not installed on a slow line. */
export const maxPackageBytes = 35 * 1024 * 1024;

/** What only the repository needs. */
const repositoryKeys = [
  'private',
  'files',
  'gypfile',
  'scripts',
  'dependencies',
  'devDependencies',
];

/** @param {string} folder @param {import('./cross-build.mjs').Target} target */
async function stage(folder, target) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildBundles({ minify: true, folder: path.join(folder, 'dist') });
  await crossBuild(target);
  for (const name of [
    prebuildPath(target),
    'extension/assets',
    'extension/l10n',
    'package.nls.json',
    'README.md',
    'CHANGELOG.md',
    'LICENSE',
    '.vscodeignore',
  ]) {
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  }
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  for (const key of repositoryKeys) delete manifest[key];
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * @param {import('./cross-build.mjs').Target} target
 * @param {string} [out] default: anllm-TARGET.vsix in the project's folder
 * @returns {Promise<string>} absolute path of the package
 */
export async function packageExtension(target, out) {
  const folder = path.join(root, '.cache', 'package', target);
  await stage(folder, target);
  const file = path.resolve(root, out ?? `anllm-${target}.vsix`);
  mkdirSync(path.dirname(file), { recursive: true });
  await mustSucceed(
    process.execPath,
    [
      nodeModule('@vscode/vsce/vsce'),
      'package',
      '--no-dependencies',
      `--target=${target}`,
      `--out=${file}`,
    ],
    { cwd: folder },
  );
  const { size } = statSync(file);
  if (size > maxPackageBytes) {
    throw new Failure(`${file} has ${size} bytes; at most ${maxPackageBytes} are allowed`);
  }
  return file;
}

if (isMain(import.meta.filename)) {
  void runMain(async (args) => {
    const { values } = parseArgs({
      args,
      options: { target: { type: 'string' }, out: { type: 'string' } },
    });
    const target = parseTarget(values.target ?? `${process.platform}-${process.arch}`);
    await ensureDependencies();
    const file = await packageExtension(target, values.out);
    const megabytes = (statSync(file).size / 2 ** 20).toFixed(1);
    console.log(`${file} (${megabytes} MB)\nInstall with: code --install-extension ${file}`);
  });
}
