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
    link: ['-undefined', 'dynamic_lookup', '-Wl,-s'],
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

/**
 * Parses native/prelude.h once for all sources that have these flags.
 * @param {string} folder relative to the root
 * @param {readonly string[]} args
 * @returns {Promise<string[]>} arguments with which a source begins with it
 */
async function parsePrelude(folder, args) {
  const words = [zigVersion, ...args, ...headerPackages.map(versionOf)];
  // zig knows what an object was made of by the names of such files alone.
  const file = `${folder}/${contentHash(words, [prelude])}.pch`;
  mkdirSync(path.join(root, folder), { recursive: true });
  await zigCxx([...args, '-x', 'c++-header', prelude, '-o', file]);
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

/**
 * @param {Target} target
 * @param {string} output path relative to the root
 */
async function compile(target, output) {
  const { platform, triple, link } = targets[target];
  const folder = `.cache/cross-build/${target}`;
  const units = readGyp(platform).units.map(({ target: part, source, flags }) => ({
    part,
    source,
    object: `${folder}/${part}/${source}.o`,
    args: ['-target', triple, ...commonFlags, ...flags.flatMap(zigFlags), ...headers],
  }));
  /** @type {Map<string, string[]>} */
  const preludes = new Map();
  // Flags are those of a part.
  const parts = [...new Map(units.map(({ part, args }) => [part, args]))];
  await runAll(parts, async ([part, args]) => {
    preludes.set(part, await parsePrelude(`${folder}/${part}`, args));
  });
  await runAll(units, async ({ part, source, object, args }) => {
    mkdirSync(path.dirname(path.join(root, object)), { recursive: true });
    await zigCxx([...args, ...(preludes.get(part) ?? []), '-c', source, '-o', object]);
  });
  const linked = `${folder}/anllm.node`;
  const objects = units.map(({ object }) => object);
  // zig builds its C++ library for the target then, the first time.
  await zigCxx(['-target', triple, '-shared', ...link, ...objects, '-o', linked]);
  renameSync(path.join(root, linked), path.join(root, output));
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
  await makeIfChanged(output, contentHash(words, addonInputs()), () => compile(target, output));
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
