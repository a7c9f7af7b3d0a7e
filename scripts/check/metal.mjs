// @ts-check
/**
 * npm run metal:check: reads every .metal file with a front end that knows address spaces (clang's C++ for OpenCL), since
 * no Metal compiler runs outside macOS. Skipped with a message where clang is missing. usage: metal.mjs
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles } from '../lib/content-hash.mjs';
import { capture, hasCommand, root } from '../lib/process.mjs';

/** Off are the features that Metal lacks: the generic address space above all, and double. */
const arguments_ = [
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
  '-DANLLM_KERNELS',
  `-I${path.join(root, 'metal')}`,
  `-I${path.join(root, 'test/metal/front_end')}`,
  '-Wall',
  '-Wextra',
  '-Wno-unused-parameter',
  // Function constants have stand-in values.
  '-Wno-division-by-zero',
  '-Werror',
  '-fsyntax-only',
];

/**
 * @param {readonly string[]} files paths relative to the root
 * @returns {Promise<string[]>} what the front end says about each file that it rejects
 */
export async function checkMetal(files) {
  const results = await Promise.all(
    files.map((file) => capture('clang', [...arguments_, path.resolve(root, file)])),
  );
  return results.filter(({ code }) => code !== 0).map(({ output }) => output.trimEnd());
}

export const canCheckMetal = () => hasCommand('clang');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (canCheckMetal()) {
    const findings = await checkMetal(listFiles('metal', /\.metal$/));
    for (const finding of findings) console.error(finding);
    process.exitCode = findings.length > 0 ? 1 : 0;
  } else {
    console.log('metal:check skipped: no clang. Install it with: apt-get install clang');
  }
}
