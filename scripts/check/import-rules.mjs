// @ts-check
/** Who may import whom, and nobody in a circle. usage: import-rules.mjs */
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { listFiles } from '../lib/content-hash.mjs';
import { isMain, reportFindings, root } from '../lib/process.mjs';

const foundations = ['common', 'program', 'loading', 'backend'];
const models = [...foundations, 'core', 'cache'];

/**
 * The first pattern that fits a file gives its layer, and `may` lists what it may import besides itself. A file that
 * fits none has no place in the design yet.
 * @type {readonly { name: string, files: RegExp, may: readonly string[] }[]}
 */
const layers = [
  { name: 'protocol', files: /^extension\/protocol\//, may: [] },
  { name: 'webview', files: /^webview\//, may: ['protocol'] },
  { name: 'host', files: /^extension\/host\//, may: ['protocol'] },
  { name: 'common', files: /^extension\/engine\/(errors|statistics)\.ts$/, may: [] },
  // The contract between core and the backends: plain data.
  { name: 'program', files: /^extension\/engine\/core\/program\.ts$/, may: ['loading'] },
  { name: 'loading', files: /^extension\/engine\/loading\//, may: ['common'] },
  {
    name: 'backend',
    files: /^extension\/engine\/backend\//,
    may: ['common', 'program', 'loading'],
  },
  { name: 'core', files: /^extension\/engine\/core\//, may: foundations },
  { name: 'cache', files: /^extension\/engine\/cache\//, may: foundations },
  { name: 'generation', files: /^extension\/engine\/generation\//, may: models },
  {
    // One loaded model with everything that runs it.
    name: 'engine',
    files: /^extension\/engine\/(engine|engine_options|later_calibration|load_engine|verify)\.ts$/,
    may: [...models, 'generation'],
  },
  {
    name: 'completion',
    files: /^extension\/engine\/completion\//,
    may: [...models, 'generation', 'engine', 'protocol'],
  },
  {
    name: 'chat',
    files: /^extension\/engine\/chat\//,
    may: [...models, 'generation', 'engine', 'protocol'],
  },
  {
    // A model on another server in place of one that runs here.
    name: 'remote',
    files: /^extension\/engine\/remote\//,
    may: [...models, 'generation', 'completion', 'chat', 'protocol'],
  },
  {
    name: 'server',
    files: /^extension\/engine\/server\//,
    may: [...models, 'generation', 'engine', 'completion', 'chat', 'protocol'],
  },
  {
    // The child process and the command line.
    name: 'entry',
    files: /^extension\/engine\/((main|cli)\.ts$|(child|cli)\/)/,
    may: [...models, 'generation', 'engine', 'completion', 'chat', 'remote', 'server', 'protocol'],
  },
];

/** @param {string} file */
const layerOf = (file) => layers.find((layer) => layer.files.test(file));

/**
 * @param {string} file importing file, relative to the root
 * @param {string} specifier
 * @returns {string | null} what is wrong with the import
 */
function checkImport(file, specifier) {
  const from = layerOf(file);
  if (from === undefined) {
    return 'is in no layer of scripts/check/import-rules.mjs';
  }
  if (specifier === 'vscode') {
    return from.name === 'host' ? null : `imports 'vscode', which only extension/host has`;
  }
  if (!specifier.startsWith('.')) {
    const isBare = !specifier.startsWith('node:') && builtinModules.includes(specifier);
    return isBare ? `imports '${specifier}' without its node: prefix` : null;
  }
  const target = path.posix.join(path.posix.dirname(file), specifier).replace(/\.ts$/, '');
  const to = layerOf(`${target}.ts`) ?? layerOf(`${target}/index.ts`);
  if (to === undefined) return `imports ${target}, which is in no layer`;
  const isAllowed = to === from || from.may.includes(to.name);
  return isAllowed ? null : `(${from.name}) imports ${target} (${to.name})`;
}

/** @param {string} text */
const specifiersOf = (text) =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);

/**
 * @param {string} file relative to the root
 * @param {string} text
 * @returns {string[]} findings
 */
export function checkImports(file, text) {
  return specifiersOf(text).flatMap((specifier) => {
    const problem = checkImport(file, specifier);
    return problem === null ? [] : [`${file} ${problem}`];
  });
}

/**
 * Files that import each other, straight or through others.
 * @param {ReadonlyMap<string, string>} texts by path relative to the root
 * @returns {string[]} findings
 */
export function checkCircles(texts) {
  /** @type {Map<string, 'open' | 'done'>} */
  const states = new Map();
  /** @type {string[]} */
  const findings = [];
  /** @param {string} file @param {readonly string[]} trail */
  const visit = (file, trail) => {
    const state = states.get(file);
    if (state === 'open') {
      const circle = [...trail.slice(trail.indexOf(file)), file];
      findings.push(`${circle.join(' imports ')}: a circle`);
    }
    if (state !== undefined) return;
    states.set(file, 'open');
    for (const specifier of specifiersOf(texts.get(file) ?? '')) {
      if (!specifier.startsWith('.')) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier);
      const found = [target, `${target}.ts`, `${target}.tsx`].find((each) => texts.has(each));
      if (found !== undefined) visit(found, [...trail, file]);
    }
    states.set(file, 'done');
  };
  for (const file of texts.keys()) visit(file, []);
  return findings;
}

export function checkTree() {
  const files = ['extension', 'webview'].flatMap((folder) => listFiles(folder, /\.(ts|tsx)$/));
  const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
  const wrong = [...texts].flatMap(([file, text]) => checkImports(file, text));
  return [...wrong, ...checkCircles(texts)];
}

if (isMain(import.meta.filename)) {
  reportFindings(checkTree());
}
