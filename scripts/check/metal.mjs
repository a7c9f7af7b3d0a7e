// @ts-check
/**
 * npm run metal:check: compiles every .metal file with Apple's compiler where Xcode has it. Elsewhere, since no Metal
 * compiler runs outside macOS, a front end that knows address spaces (clang's C++ for OpenCL) reads the text that Apple's
 * gets, with what Apple's headers declare (test/metal/front_end/). Skipped with a message where there is neither.
 * usage: metal.mjs
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { listFiles } from '../lib/content-hash.mjs';
import {
  capture,
  Failure,
  hasCommand,
  isMain,
  reportFindings,
  root,
  runMain,
} from '../lib/process.mjs';

/** Off are the features that Metal lacks: the generic address space above all, and double. */
const clangOptions = [
  '-target',
  'spir64',
  '-x',
  'cl',
  '-cl-std=clc++2021',
  '-Xclang',
  '-finclude-default-header',
  '-Xclang',
  '-cl-ext=-__opencl_c_generic_address_space,-__opencl_c_program_scope_global_variables,-__opencl_c_device_enqueue,' +
    '-__opencl_c_pipes,-__opencl_c_read_write_images,-__opencl_c_fp64,-cl_khr_fp64',
  '-D__METAL_VERSION__=310',
  `-I${path.join(root, 'metal')}`,
  `-I${path.join(root, 'test/metal/front_end')}`,
  '-Wall',
  '-Wextra',
  '-Wno-unused-parameter',
  // Function constants have stand-in values, and what Metal says in attributes OpenCL does not know.
  '-Wno-division-by-zero',
  '-Wno-unknown-attributes',
  '-Wno-ignored-attributes',
  '-Werror',
  '-fsyntax-only',
];

/** As newLibraryWithSource compiles them: see native/metal/apple/device.cpp. */
const appleOptions = [
  '-sdk',
  'macosx',
  'metal',
  '-std=metal3.1',
  '-fno-fast-math',
  '-Wall',
  `-I${path.join(root, 'metal')}`,
  '-c',
  '-o',
  '/dev/null',
];

/** Xcode, unlike its command line tools alone, brings the compiler, or downloads it when it is asked to. */
const hasApple = () => spawnSync('xcrun', ['-sdk', 'macosx', 'metal', '--version']).status === 0;

/** The command that reads kernels, without the file; null where there is none. */
export function frontEnd() {
  if (process.platform === 'darwin') {
    return hasApple() ? { command: 'xcrun', options: appleOptions } : null;
  }
  return hasCommand('clang') ? { command: 'clang', options: clangOptions } : null;
}

/**
 * @param {readonly string[]} files paths, relative to the root or absolute
 * @returns {Promise<string[]>} what the front end says about each file that it rejects
 */
export async function checkMetal(files) {
  const reader = frontEnd();
  if (reader === null) throw new Failure('no front end for kernels: neither Xcode nor clang');
  const results = await Promise.all(
    files.map((file) => capture(reader.command, [...reader.options, path.resolve(root, file)])),
  );
  return results.filter(({ code }) => code !== 0).map(({ output }) => output.trimEnd());
}

if (isMain(import.meta.filename)) {
  void runMain(async () => {
    if (frontEnd() === null) {
      const how =
        process.platform === 'darwin'
          ? 'xcodebuild -downloadComponent MetalToolchain'
          : 'apt-get install clang';
      console.log(`metal:check skipped: no compiler. Install it with: ${how}`);
    } else {
      reportFindings(await checkMetal(listFiles('metal', /\.metal$/)));
    }
  });
}
