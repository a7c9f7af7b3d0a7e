// @ts-check
/**
 * Compiles every C++ file without output, with the warnings that matter as errors. Where no compiler is there, says so
 * and passes: the build says the same. Files whose text and headers did not change are not compiled again.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { contentHash, listFiles } from '../lib/content-hash.mjs';
import { readGyp } from '../lib/gyp.mjs';
import { capture, hasCommand, root } from '../lib/process.mjs';

const compiler = process.env.CXX ?? 'c++';
const warnings = [
  '-Wall',
  '-Wextra',
  '-Wshadow',
  '-Wconversion',
  '-Wno-sign-conversion',
  '-Wno-missing-field-initializers',
  // binding.gyp names some of gcc's.
  '-Wno-unknown-warning-option',
  '-Werror',
];
const headers = ['node-addon-api', 'node-api-headers/include'].flatMap((name) => [
  '-isystem',
  `node_modules/${name}`,
]);

const memory = path.join(root, '.cache', 'native-warnings.json');

/** @returns {Set<string>} hashes of what compiled without a warning */
const readPassed = () =>
  new Set(existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : []);

/**
 * Kernels are one text for every instruction set: all of it is checked for the last set, and for each other set one
 * file, which brings in that set's own header.
 */
function unitsToCheck() {
  /** @type {Set<string>} */
  const seen = new Set();
  return readGyp()
    .units.toReversed()
    .filter(({ target, source }) => {
      const isNew = !seen.has(source) || !seen.has(target);
      seen.add(source).add(target);
      return isNew;
    });
}

async function checkAll() {
  const includes = [...listFiles('native', /\.(h|inc)$/), ...listFiles('metal', /\.h$/)];
  const version = (await capture(compiler, ['--version'])).output;
  const passed = readPassed();
  const kept = new Set();
  let failures = 0;
  const pending = unitsToCheck();
  const worker = async () => {
    for (let unit = pending.shift(); unit !== undefined; unit = pending.shift()) {
      const args = [...unit.flags, ...warnings, ...headers, '-fsyntax-only', unit.source];
      const hash = contentHash([version, ...args], [unit.source, ...includes]);
      if (!passed.has(hash)) {
        const { code, output } = await capture(compiler, args);
        if (code !== 0) {
          console.error(output.trimEnd());
          failures++;
          continue;
        }
      }
      kept.add(hash);
    }
  };
  await Promise.all([worker(), worker()]);
  mkdirSync(path.dirname(memory), { recursive: true });
  writeFileSync(memory, JSON.stringify([...kept]));
  return failures;
}

if (hasCommand(compiler)) {
  process.exitCode = (await checkAll()) > 0 ? 1 : 0;
} else {
  console.warn(`${compiler} is not there; C++ is not compiled`);
}
