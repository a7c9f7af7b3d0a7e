// @ts-check
/**
 * npm run cross-build -- linux-x64|linux-arm64|darwin-arm64
 * Makes prebuilds/TARGET/anllm.node, in prebuildify's layout, from any machine: zig compiles the sources of binding.gyp
 * with its flags. On a Mac, prebuildify builds darwin-arm64 with Apple's own compiler. Two builds give equal bytes.
 */
import { mkdirSync, renameSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { addonInputs, versionOf } from './build/addon.mjs';
import { writeKernelText } from './build/kernel-text.mjs';
import { prelude } from './build/prelude.mjs';
import { contentHash, makeIfChanged } from './lib/content-hash.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { readGyp } from './lib/gyp.mjs';
import { Failure, isMain, mustSucceed, nodeModule, root, runMain } from './lib/process.mjs';
import { ensureZig, zigCxx, zigVersion } from './lib/zig.mjs';

/** @typedef {'linux-x64' | 'linux-arm64' | 'darwin-arm64'} Target */

/**
 * Oldest systems: macOS 14, and glibc 2.28 as VS Code itself asks for. Node-API functions are looked up in the running
 * process; zig's linker signs Mach-O files ad hoc.
 * @type {Record<Target, { platform: import('./lib/gyp.mjs').Platform, triple: string, link: readonly string[] }>}
 */
const targets = {
  'linux-x64': {
    platform: { OS: 'linux', target_arch: 'x64' },
    triple: 'x86_64-linux-gnu.2.28',
    link: ['-s'],
  },
  'linux-arm64': {
    platform: { OS: 'linux', target_arch: 'arm64' },
    triple: 'aarch64-linux-gnu.2.28',
    link: ['-s'],
  },
  'darwin-arm64': {
    platform: { OS: 'mac', target_arch: 'arm64' },
    triple: 'aarch64-macos.14.0',
    // Otherwise the addon would be named after the path at which it was linked.
    link: ['-undefined', 'dynamic_lookup', '-Wl,-s', '-install_name', '@rpath/anllm.node'],
  },
};

/** What node-gyp adds for every addon; binding.gyp also has warning options of other compilers. */
const commonFlags = [
  '-O3',
  '-g0',
  '-fPIC',
  '-fvisibility=hidden',
  '-DBUILDING_NODE_EXTENSION',
  '-Wno-unknown-warning-option',
];

/**
 * zig has its own names for processors, and takes AVX-512 without its 512-bit registers unless asked for them.
 * @param {string} flag of gcc and clang
 */
const zigFlags = (flag) => [
  flag.replace(/^-march=armv8\.(\d)-a/, '-mcpu=baseline+v8_$1a'),
  ...(flag === '-mavx512f' ? ['-mevex512'] : []),
];

/** @param {string} name @returns {Target} */
export function parseTarget(name) {
  if (Object.hasOwn(targets, name)) return /** @type {Target} */ (name);
  throw new Failure(`target ${name}: expected ${Object.keys(targets).join(', ')}`);
}

/** @param {Target} target */
export const prebuildPath = (target) => `prebuilds/${target}/anllm.node`;

const headerPackages = ['node-addon-api', 'node-api-headers'];

/** Where Node-API's headers lie. */
const headers = ['node-addon-api', 'node-api-headers/include'].flatMap((name) => [
  '-isystem',
  `node_modules/${name}`,
]);

/** @typedef {{ part: string, source: string, folder: string, object: string, args: readonly string[] }} Unit */

/** @param {Target} target */
const folderOf = (target) => `.cache/cross-build/${target}`;

/**
 * What a target is compiled from.
 * @param {Target} target
 * @param {string} folder of the objects, relative to the root
 * @returns {Unit[]}
 */
function unitsOf(target, folder) {
  const { platform, triple } = targets[target];
  return readGyp(platform).units.map(({ target: part, source, flags }) => ({
    part,
    source,
    folder: `${folder}/${part}`,
    object: `${folder}/${part}/${source}.o`,
    args: ['-target', triple, ...commonFlags, ...flags.flatMap(zigFlags), ...headers],
  }));
}

/**
 * Parses native/prelude.h once for all sources of a part, which have the same flags.
 * @param {Unit} unit one of the part
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string[]>} arguments with which a source begins with it
 */
async function parsePrelude({ folder, args }, env) {
  const words = [zigVersion, ...args, ...headerPackages.map(versionOf)];
  // zig knows what an object was made of by the names of such files alone.
  const file = `${folder}/${contentHash(words, [prelude])}.pch`;
  mkdirSync(path.join(root, folder), { recursive: true });
  await zigCxx([...args, '-x', 'c++-header', prelude, '-o', file], env);
  return ['-include-pch', file];
}

/**
 * Runs jobs in their order, as many at a time as there are cores.
 * @template Job
 * @param {readonly Job[]} jobs
 * @param {(job: Job) => Promise<void>} run
 */
async function runAll(jobs, run) {
  const waiting = [...jobs];
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(job);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

/** @param {readonly Unit[]} units @param {NodeJS.ProcessEnv} [env] */
async function compile(units, env = {}) {
  /** @type {Map<string, string[]>} */
  const preludes = new Map();
  await runAll([...new Map(units.map((unit) => [unit.part, unit])).values()], async (unit) => {
    preludes.set(unit.part, await parsePrelude(unit, env));
  });
  await runAll(units, async ({ part, source, object, args }) => {
    mkdirSync(path.dirname(path.join(root, object)), { recursive: true });
    await zigCxx([...args, ...(preludes.get(part) ?? []), '-c', source, '-o', object], env);
  });
}

/**
 * The first time for a target, zig builds its C++ library.
 * @param {Target} target
 * @param {readonly string[]} objects
 * @param {string} output
 * @param {NodeJS.ProcessEnv} [env]
 */
async function linkAddon(target, objects, output, env = {}) {
  const { triple, link } = targets[target];
  await zigCxx(['-target', triple, '-shared', ...link, ...objects, '-o', output], env);
}

/** @param {Target} target @param {string} output path relative to the root */
async function buildAddonOf(target, output) {
  const units = unitsOf(target, folderOf(target));
  await compile(units);
  const linked = `${folderOf(target)}/anllm.node`;
  await linkAddon(
    target,
    units.map(({ object }) => object),
    linked,
  );
  renameSync(path.join(root, linked), path.join(root, output));
}

/**
 * Compiles some sources a second time and links the addon again, elsewhere and with nothing kept but zig's C++ library.
 * @param {Target} target
 * @param {readonly string[]} sources
 * @param {string} folder relative to the root
 * @returns {Promise<string>} absolute path of that addon
 */
export async function buildAgain(target, sources, folder) {
  await crossBuild(target);
  const env = { ZIG_LOCAL_CACHE_DIR: path.join(root, folder, 'zig') };
  const again = unitsOf(target, folder).filter(({ source }) => sources.includes(source));
  await compile(again, env);
  const objects = unitsOf(target, folderOf(target)).map(
    (unit) =>
      again.find(({ part, source }) => part === unit.part && source === unit.source)?.object ??
      unit.object,
  );
  await linkAddon(target, objects, `${folder}/anllm.node`, env);
  return path.join(root, folder, 'anllm.node');
}

/** Apple's compiler, through the field's own tool. */
async function prebuildify() {
  const node = process.versions.node;
  await mustSucceed(process.execPath, [
    nodeModule('prebuildify/bin.js'),
    '--napi',
    '--strip',
    `--target=${node}`,
  ]);
}

/**
 * Makes the prebuilt addon of a target when its sources changed.
 * @param {Target} target
 */
export async function crossBuild(target) {
  const output = prebuildPath(target);
  mkdirSync(path.dirname(path.join(root, output)), { recursive: true });
  writeKernelText();
  if (process.platform === 'darwin' && target === 'darwin-arm64') {
    await makeIfChanged(output, contentHash(['prebuildify'], addonInputs()), prebuildify);
    return;
  }
  await ensureZig();
  const versions = headerPackages.map(versionOf);
  const words = [zigVersion, JSON.stringify(targets[target]), ...commonFlags, ...versions];
  await makeIfChanged(output, contentHash(words, addonInputs()), () =>
    buildAddonOf(target, output),
  );
}

if (isMain(import.meta.filename)) {
  void runMain(async (args) => {
    await ensureDependencies();
    for (const target of args.map(parseTarget)) {
      await crossBuild(target);
      console.log(prebuildPath(target));
    }
  });
}
