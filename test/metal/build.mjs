// @ts-check
/**
 * Builds what runs the .metal files on the soft device: for single ops the program build/metal/plain/runner, or
 * build/metal/sanitized/runner with AddressSanitizer and UndefinedBehaviorSanitizer; for whole models an addon whose GPU
 * is the soft device. usage: build.mjs [--sanitize | --addon]
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { alone } from '../../scripts/lib/alone.mjs';
import { contentHash, listFiles, makeIfChanged } from '../../scripts/lib/content-hash.mjs';
import { readGyp } from '../../scripts/lib/gyp.mjs';
import { Failure, hasCommand, mustSucceed, root, runMain } from '../../scripts/lib/process.mjs';
import { buildAddon } from '../../scripts/build/addon.mjs';
import { writeKernelText } from '../../scripts/build/kernel-text.mjs';

const compiler = process.env.CXX ?? 'g++';

/** On a Mac the GPU itself is tested: its linker and its libraries are not those that this file knows. */
export const canBuild = () => process.platform === 'linux' && hasCommand(compiler);

const flags = [
  '-std=c++20',
  '-fPIC',
  '-g1',
  '-march=native',
  '-Wall',
  '-Wextra',
  '-Wno-missing-field-initializers',
  '-Werror',
];
const includeFolders = ['metal', 'test/metal/soft_device'];
/** Where kernel_source.cpp has the text of the kernels from. */
const generated = '.cache/generated';
/** Only kernels are written in the dialect; the rest sees the headers of metal/ as plain C++. */
const kernelFlags = [
  '-DANLLM_KERNELS',
  '-Wno-attributes',
  '-Wno-ignored-attributes',
  // Loops over function constants, which the compiler takes for unknown.
  '-Wno-maybe-uninitialized',
];

/**
 * A .metal file and the registration of its kernels as a C++ source.
 * @param {string} file
 */
function kernelSource(file) {
  const text = readFileSync(path.join(root, file), 'utf8');
  const names = [...text.matchAll(/^KERNEL\((\w+),/gm)].map(([, name]) => name);
  const lines = names.map((name) => `DefineKernel("${name}", ${name}_threads, ${name})`);
  return `#include "${path.join(root, file)}"\nconst bool are_defined = ${lines.join(' && ')};\n`;
}

/**
 * @param {string} file relative to the root
 * @param {string} text
 */
function writeIfChanged(file, text) {
  const absolute = path.join(root, file);
  if (!existsSync(absolute) || readFileSync(absolute, 'utf8') !== text) {
    writeFileSync(absolute, text);
  }
}

/**
 * A source and all project files that it includes, relative to the root.
 * @param {string} file
 * @param {Set<string>} [found]
 */
function withIncludes(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(path.join(root, file), 'utf8');
  for (const [, name = ''] of text.matchAll(/^#include "([^"]+)"/gm)) {
    const target = [path.dirname(file), ...includeFolders, generated]
      .map((folder) => path.normalize(path.relative(root, path.resolve(root, folder, name))))
      .find((candidate) => existsSync(path.join(root, candidate)));
    if (target !== undefined) withIncludes(target, found);
  }
  return found;
}

/**
 * @param {{ sanitize?: boolean }} [options]
 * @returns {Promise<string>} absolute path of the program
 */
export async function buildRunner({ sanitize = false } = {}) {
  const folder = path.join('build', 'metal', sanitize ? 'sanitized' : 'plain');
  const program = path.join(folder, 'runner');
  mkdirSync(path.join(root, folder), { recursive: true });
  await alone(path.join(root, folder, 'lock'), async () => {
    const { objects, hash, mode } = await compileAll(folder, sanitize, 'runner');
    await makeIfChanged(program, hash, async () => {
      await mustSucceed(compiler, [...mode, ...objects, '-o', program]);
    });
  });
  return path.join(root, program);
}

/**
 * Objects of the addon for this machine, which node-gyp left.
 * @param {RegExp} except sources
 */
async function addonObjects(except) {
  const addon = await buildAddon();
  if (typeof addon !== 'string') throw new Failure(`missing: ${addon.missing.join(', ')}`);
  const folder = 'build/Release/obj.target';
  const { name, units } = readGyp();
  return [
    ...units
      .filter(({ target, source }) => target === name && !except.test(source))
      .map(({ source }) => `${folder}/${name}/${source.replace(/\.cpp$/, '.o')}`),
    ...listFiles(folder, /^kernels_\w+\.a$/),
  ];
}

/**
 * @param {string} output relative to the root
 * @param {readonly string[]} objects
 */
async function linkModule(output, objects) {
  mkdirSync(path.dirname(path.join(root, output)), { recursive: true });
  await makeIfChanged(output, contentHash([], objects), async () => {
    await mustSucceed(compiler, ['-shared', '-pthread', ...objects, '-o', output]);
  });
}

/**
 * The addon with the soft device in place of the file that says there is none.
 * @returns {Promise<string>} absolute path of a folder for node-gyp-build, which ANLLM_PREBUILD names
 */
export async function buildSoftAddon() {
  const folder = path.join('build', 'metal', 'plain');
  const output = path.join('build', 'metal', 'addon');
  mkdirSync(path.join(root, folder), { recursive: true });
  await alone(path.join(root, folder, 'lock'), async () => {
    const own = await addonObjects(/no_device\.cpp$/);
    const { objects } = await compileAll(folder, false, null);
    // The device brings its own copy of the ops.
    const soft = objects.filter((file) => !path.basename(file).startsWith('native_'));
    await linkModule(path.join(output, 'build', 'Release', 'anllm.node'), [...soft, ...own]);
  });
  return path.join(root, output);
}

/**
 * native/metal/apple with the stand-in runtime of test/metal/objc/, which has the soft device behind Metal's classes.
 * @returns {Promise<{ program: string, addon: string }>} absolute paths of the program of test/metal/objc/check/, and of
 *   a folder for node-gyp-build
 */
export async function buildStandIn() {
  const folder = path.join('build', 'metal', 'plain');
  const program = path.join(folder, 'objc_check');
  const addon = path.join('build', 'metal', 'objc_addon');
  const library = path.join(root, folder, 'stand_in.so');
  mkdirSync(path.join(root, folder), { recursive: true });
  writeKernelText();
  await alone(path.join(root, folder, 'lock'), async () => {
    const { objects } = await compileAll(folder, false, 'objc');
    const is = (/** @type {string} */ part) => (/** @type {string} */ file) =>
      path.basename(file).startsWith(part);
    const soft = objects.filter((file) => !is('native_')(file));
    await linkModule(path.relative(root, library), soft);

    const names = ['OBJC', 'METAL', 'GRAPHICS', 'IOKIT'].map(
      (name) => `-DANLLM_${name}_LIBRARY="${library}"`,
    );
    const command = [...flags, ...names, `-I${generated}`, '-c'];
    const sources = [
      ...listFiles('native/metal/apple', /\.cpp$/),
      ...listFiles('test/metal/objc/check', /\.cpp$/),
    ];
    for (const source of sources) await compile(command, objectOf(folder, source), source);
    const apple = sources.map((source) => objectOf(folder, source));
    const ops = objects.filter((file) => is('native_')(file));
    await makeIfChanged(program, contentHash([], [...apple, ...ops]), async () => {
      await mustSucceed(compiler, [...apple, ...ops, '-o', program]);
    });
    const own = await addonObjects(/no_device\.cpp$/);
    const wrapper = apple.filter((file) => !file.includes('_check_'));
    await linkModule(path.join(addon, 'build', 'Release', 'anllm.node'), [...wrapper, ...own]);
  });
  return { program: path.join(root, program), addon: path.join(root, addon) };
}

/** @returns {Promise<string>} absolute path of the module of test/metal/count/ */
export async function buildCounter() {
  const folder = path.join('build', 'metal', 'count');
  const output = path.join(folder, 'count.node');
  mkdirSync(path.join(root, folder), { recursive: true });
  await alone(path.join(root, folder, 'lock'), async () => {
    const own = await addonObjects(/(addon|session|no_device)\.cpp$/);
    const source = 'test/metal/count/count.cpp';
    const object = objectOf(folder, source);
    const headers = ['node-addon-api', 'node-api-headers/include'].flatMap((name) => [
      '-isystem',
      `node_modules/${name}`,
    ]);
    await compile([...flags, ...headers, '-DNAPI_VERSION=8', '-c'], object, source);
    await linkModule(output, [object, ...own]);
  });
  return path.join(root, output);
}

/**
 * Compiles a source unless it is compiled already, and gives the hash of all that went in.
 * @param {readonly string[]} command
 * @param {string} output
 * @param {string} source
 */
async function compile(command, output, source) {
  const hash = contentHash([compiler, ...command], [...withIncludes(source)].sort());
  await makeIfChanged(output, hash, async () => {
    await mustSucceed(compiler, [...command, source, '-o', output]);
  });
  return hash;
}

/**
 * Compiles the kernels, the soft device and what drives them.
 * @param {string} folder relative to the root
 * @param {boolean} sanitize
 * @param {'runner' | 'objc' | null} driver
 */
async function compileAll(folder, sanitize, driver) {
  const mode = sanitize
    ? [
        '-O1',
        '-fsanitize=address,undefined',
        '-fno-sanitize-recover=all',
        '-fno-omit-frame-pointer',
      ]
    : ['-O2'];
  const includes = includeFolders.map((part) => `-I${part}`);

  // Every kernel begins with the dialect's header, which is most of what its compiler reads.
  const common = [...flags, ...mode, ...kernelFlags, ...includes];
  const prelude = path.join(folder, 'prelude.h');
  writeIfChanged(prelude, '#include "msl.h"\n');
  await compile([...common, '-x', 'c++-header'], `${prelude}.gch`, prelude);

  const files = ['metal', 'test/metal'].flatMap((part) => listFiles(part, /\.metal$/));
  const kernels = files.map((file) => {
    const source = path.join(folder, `${path.basename(file, '.metal')}.kernel.cpp`);
    writeIfChanged(source, kernelSource(file));
    return { source, command: [...common, '-include', prelude, '-c'] };
  });
  const others = [
    // What stands between ops and programs is not needed here.
    ...listFiles('native/metal', /\.cpp$/).filter(
      (file) => path.dirname(file) === 'native/metal' && !file.endsWith('/no_device.cpp'),
    ),
    ...listFiles('test/metal/soft_device', /\.cpp$/),
    ...(driver === null ? [] : listFiles(`test/metal/${driver}`, /\.cpp$/)).filter(
      (file) => !file.includes('/check/'),
    ),
  ].map((source) => ({ source, command: [...flags, ...mode, '-c'] }));

  const waiting = [...kernels, ...others];
  const objects = waiting.map(({ source }) => objectOf(folder, source));
  /** @type {string[]} */
  const hashes = [];
  const worker = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      hashes.push(await compile(job.command, objectOf(folder, job.source), job.source));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));

  return { objects, hash: contentHash(hashes.sort(), []), mode };
}

/** @param {string} folder @param {string} source */
const objectOf = (folder, source) =>
  path.join(folder, `${source.replaceAll('/', '_').replace(/\.cpp$/, '')}.o`);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  void runMain(async (options) => {
    const sanitize = options.includes('--sanitize');
    console.log(
      options.includes('--addon') ? await buildSoftAddon() : await buildRunner({ sanitize }),
    );
  });
}
