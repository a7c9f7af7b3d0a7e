// @ts-check
/** Who may import whom. usage: import-rules.mjs */
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
    files: /^extension\/engine\/(engine|engine_options|load_engine|verify)\.ts$/,
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

/**
 * @param {string} file relative to the root
 * @param {string} text
 * @returns {string[]} findings
 */
export function checkImports(file, text) {
  const { importedFiles } = ts.preProcessFile(text, true, true);
  return importedFiles.flatMap(({ fileName }) => {
    const problem = checkImport(file, fileName);
    return problem === null ? [] : [`${file} ${problem}`];
  });
}

export const checkTree = () =>
  ['extension', 'webview']
    .flatMap((folder) => listFiles(folder, /\.(ts|tsx)$/))
    .flatMap((file) => checkImports(file, readFileSync(path.join(root, file), 'utf8')));

if (isMain(import.meta.filename)) {
  reportFindings(checkTree());
}
