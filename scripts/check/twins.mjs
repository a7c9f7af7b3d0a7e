// @ts-check
/**
 * One name, three files: metal/NAME.metal, native/cpu/NAME.cpp and test/native/NAME.test.ts. A kernel without its
 * twin on the CPU, or an op without its test, has nothing that proves it. An op with several Metal kernels names them
 * NAME_variant.metal. usage: twins.mjs
 */
import path from 'node:path';
import { listFiles } from '../lib/content-hash.mjs';
import { isMain, reportFindings } from '../lib/process.mjs';

/**
 * @param {readonly string[]} files all of metal/, native/ and test/native/, relative to the root
 * @returns {string[]} findings
 */
export function checkTwins(files) {
  const all = new Set(files);
  /** @param {string} file @param {string} needed */
  const require = (file, needed) => (all.has(needed) ? [] : [`${file} has no ${needed}`]);
  return files.flatMap((file) => {
    const { name } = path.posix.parse(file);
    if (/^metal\/[^/]+\.metal$/.test(file)) {
      const op = [name, name.replace(/_[^_]+$/, '')].find((op) => all.has(`native/cpu/${op}.cpp`));
      return op === undefined
        ? [`${file} has no native/cpu/${name}.cpp`]
        : require(file, `test/native/${op}.test.ts`);
    }
    return /^native\/cpu\/[^/]+\.cpp$/.test(file)
      ? require(file, `test/native/${name}.test.ts`)
      : [];
  });
}

export const kernelFiles = () => [
  ...listFiles('metal', /\.metal$/),
  ...listFiles('native', /\.cpp$/),
  ...listFiles('test/native', /\.test\.ts$/),
];

if (isMain(import.meta.filename)) {
  reportFindings(checkTwins(kernelFiles()));
}
