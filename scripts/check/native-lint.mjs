// @ts-check
/** Rules for C++ and Metal that a compiler does not know. usage: native-lint.mjs */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { listFiles } from '../lib/content-hash.mjs';
import { isMain, reportFindings, root } from '../lib/process.mjs';

/**
 * @typedef {object} Rule
 * @property {RegExp} files
 * @property {RegExp} [except] files that may
 * @property {RegExp} pattern what is wrong in a line without comments and strings
 * @property {string} message
 */

const cpp = /^native\/.*\.(cpp|h)$/;
const metal = /\.metal$/;

/** @type {readonly Rule[]} */
const lineRules = [
  {
    files: cpp,
    // Buffers of a step and packed weights come from these, aligned and counted.
    except: /^native\/.*(arena|aligned|buffer)[^/]*$/,
    pattern:
      /\b(new\s+[A-Za-z_:]|delete\b(?!\s*[;,)])|(malloc|calloc|realloc|free|aligned_alloc)\s*\()/,
    message: 'memory comes from the arena, a container or std::make_unique',
  },
  {
    files: cpp,
    pattern: /\b(std::)?(cout|cerr|printf|fprintf|puts)\b/,
    message: 'an addon does not write to its host’s output; throw or return the message',
  },
  {
    files: cpp,
    pattern: /\b(std::)?(abort|exit|_Exit|terminate)\s*\(/,
    message: 'an addon does not end its host; throw',
  },
  {
    files: /\.(cpp|h|metal)$/,
    pattern: /\b(qwen|llama|mistral|mixtral|gemma|deepseek|granite|phi|glm|olmo|smollm)\d*\b/i,
    message: 'native code runs programs and knows no models',
  },
  {
    files: /\.h$/,
    // Every Metal source opens metal's namespace, and here one header does it for all.
    except: /^metal\/msl\.h$/,
    pattern: /^\s*using\s+namespace\b/,
    message: 'a header does not open a namespace for everyone who includes it',
  },
  {
    files: metal,
    pattern: /\bdouble\b/,
    message: 'Metal has no double',
  },
  {
    files: metal,
    pattern: /\b(new|delete|goto|virtual|throw|try|catch|dynamic_cast|typeid)\b/,
    message: 'Metal 3.1 does not have this keyword of C++',
  },
  {
    files: metal,
    pattern: /[=(,]\s*\[[&=\w\s,]*\]\s*(\([^)]*\))?\s*(->\s*\w+\s*)?\{/,
    message: 'Metal 3.1 has no lambdas',
  },
  {
    files: metal,
    pattern: /^\s+static\s+(?!constant|constexpr)/,
    message: 'Metal has no static locals',
  },
];

const maxWidth = 110;

/**
 * The code of a file with comments and the insides of strings blanked, line by line.
 * @param {string} text
 */
function codeLines(text) {
  return text
    .replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'/g, (match) =>
      match.replace(/[^\n]/g, ' '),
    )
    .split('\n');
}

/**
 * Findings of one file, as `file:line: message`.
 * @param {string} file relative to the root
 * @param {string} text
 */
export function lintNative(file, text) {
  const rules = lineRules.filter((rule) => rule.files.test(file) && !rule.except?.test(file));
  const findings = codeLines(text).flatMap((line, index) =>
    rules
      .filter((rule) => rule.pattern.test(line))
      .map((rule) => `${file}:${index + 1}: ${rule.message}: ${line.trim()}`),
  );
  for (const [index, line] of text.split('\n').entries()) {
    if (line.length > maxWidth) {
      findings.push(`${file}:${index + 1}: ${line.length} columns, at most ${maxWidth}`);
    }
  }
  if (file.endsWith('.h') && !/^#pragma once$/m.test(text)) {
    findings.push(`${file}:1: a header starts with #pragma once`);
  }
  return findings;
}

if (isMain(import.meta.filename)) {
  reportFindings(
    ['native', 'metal']
      .flatMap((folder) => listFiles(folder, /\.(cpp|h|metal)$/))
      .flatMap((file) => lintNative(file, readFileSync(path.join(root, file), 'utf8'))),
  );
}
