// @ts-check
/** The native addon for this machine, by node-gyp, in build/Release/ where node-gyp-build looks first. */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { contentHash, listFiles, makeIfChanged } from '../lib/content-hash.mjs';
import { readGyp } from '../lib/gyp.mjs';
import { capture, mustSucceed, nodeModule } from '../lib/process.mjs';
import { missingPackages } from '../lib/system-packages.mjs';
import { writeKernelText } from './kernel-text.mjs';
import { parsePrelude } from './prelude.mjs';

/** Everything that the addon is made of. */
export const addonInputs = () => [
  'binding.gyp',
  ...listFiles('native', /\.(cpp|h|gypi|inc)$/),
  ...listFiles('metal', /\.(metal|h)$/),
];

/** Headers that lie beside the running node need no download. @returns {string[]} */
export function headerOptions() {
  const prefix = path.resolve(process.execPath, '..', '..');
  const isComplete = existsSync(path.join(prefix, 'include', 'node', 'node_api.h'));
  return isComplete ? [`--nodedir=${prefix}`] : [];
}

/** @returns {Promise<string>} names the compiler, its version and the flags from the environment */
async function compilerIdentity() {
  const compiler = process.env.CXX ?? 'c++';
  const { output } = await capture(compiler, ['--version']).catch(() => ({ output: 'none' }));
  return [output, process.env.CXXFLAGS ?? '', process.versions.modules].join('\n');
}

/** @returns {string} version of an npm package whose headers are compiled in @param {string} name */
export const versionOf = (name) =>
  JSON.parse(readFileSync(nodeModule(path.join(name, 'package.json')), 'utf8')).version;

/**
 * Builds the addon when its sources changed.
 * @returns {Promise<'built' | 'current' | { missing: string[] }>} `missing`: Debian packages without which it cannot be built
 */
export async function buildAddon() {
  const missing = process.platform === 'linux' ? missingPackages('build') : [];
  if (missing.length > 0) return { missing };
  const compiler = await compilerIdentity();
  const hash = contentHash([compiler, versionOf('node-addon-api')], addonInputs());
  const isNew = await makeIfChanged(`build/Release/${readGyp().name}.node`, hash, async () => {
    console.log('Building the native addon (a minute on two cores)');
    writeKernelText();
    await nodeGyp(['configure']);
    const isGcc = process.platform === 'linux' && compiler.includes('Free Software Foundation');
    const first = isGcc ? await parsePrelude('build', compiler) : '';
    const CXXFLAGS = `${process.env.CXXFLAGS ?? ''} ${first}`;
    await nodeGyp(['build', `--jobs=${availableParallelism()}`], { CXXFLAGS });
  });
  return isNew ? 'built' : 'current';
}

/** @param {readonly string[]} args @param {NodeJS.ProcessEnv} [env] */
const nodeGyp = (args, env = {}) =>
  mustSucceed(
    process.execPath,
    [nodeModule('node-gyp/bin/node-gyp.js'), ...args, '--loglevel=error', ...headerOptions()],
    { env },
  );
