#!/usr/bin/env node
// @ts-check
/**
 * Puts a real VS Code (server, workbench, extension host), a Node for it and a browser into .cache/. Takes a minute
 * the first time and nothing afterwards. usage: node scripts/vscode-lab/setup.mjs
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { mustSucceed, runMain } from '../lib/process.mjs';
import { findChromium } from './chromium.mjs';
import { CODE_SERVER, NODE, cache, labRoot, layout } from './lab.mjs';
import { npm, npmInstall } from './npm.mjs';
import { restoreProposedApiGates } from './proposed-api.mjs';
import { trim } from './trim.mjs';

/** @type {import('./lab.mjs').Log} */
const toStderr = (line) => console.error(`vscode-lab: ${line}`);

/**
 * Sets the lab up unless it is up to date.
 * @returns {Promise<import('./lab.mjs').Lab>}
 */
export async function setupVsCodeLab(log = toStderr) {
  const chromium = await findChromium(log);
  const { stamp, node, server } = layout();
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== recipe()) await install(log);
  return { node, server, chromium };
}

/**
 * Builds the lab beside its place and renames it, so that an interrupted set-up leaves no half of one.
 * @param {import('./lab.mjs').Log} log
 */
async function install(log) {
  await mkdir(cache, { recursive: true });
  const dir = await mkdtemp(`${labRoot}-`);
  try {
    const { node, vscode, stamp } = layout(dir);
    log(`installing ${NODE} (190 MB)`);
    await npmInstall(dir, [NODE]);
    await npm(dir, ['rebuild', 'node']); // its script picks the binary for this machine
    log(`installing ${CODE_SERVER} (270 MB)`);
    await unpackServer(dir, vscode);
    await npmInstall(vscode);
    await npmInstall(path.join(vscode, 'extensions'));
    await buildLogger(vscode, node, log);
    const bundles = restoreProposedApiGates(path.join(vscode, 'out'));
    log(`proposed-API check restored in ${bundles} bundles`);
    trim(vscode);
    writeFileSync(stamp, recipe());
    rmSync(labRoot, { recursive: true, force: true });
    await rename(dir, labRoot);
    log('ready');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @param {string} dir @param {string} vscode */
async function unpackServer(dir, vscode) {
  await npm(dir, ['pack', CODE_SERVER]);
  const archive = `${CODE_SERVER.replace('@', '-')}.tgz`;
  await mustSucceed('tar', ['xzf', archive, 'package/lib/vscode'], { cwd: dir });
  await rename(path.join(dir, 'package/lib/vscode'), vscode);
  for (const name of ['package', archive]) rmSync(path.join(dir, name), { recursive: true });
}

/**
 * The one native module worth building: without it VS Code writes no log files. It needs a C++ compiler.
 * @param {string} vscode
 * @param {string} node
 * @param {import('./lab.mjs').Log} log
 */
async function buildLogger(vscode, node, log) {
  const prefix = path.resolve(process.execPath, '../..');
  const hasHeaders = existsSync(path.join(prefix, 'include/node/node_api.h'));
  const env = {
    PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}`,
    ...(hasHeaders && { npm_config_nodedir: prefix }),
  };
  try {
    await npm(vscode, ['rebuild', '@vscode/spdlog'], env);
  } catch {
    log('the logger could not be built (is g++ there?): tests run, but VS Code keeps no log files');
  }
}

/** A digest of everything that decides what the lab contains. */
function recipe() {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const file of ['lab.mjs', 'setup.mjs', 'proposed-api.mjs', 'trim.mjs']) {
    hash.update(readFileSync(new URL(file, import.meta.url)));
  }
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runMain(async () => console.log(JSON.stringify(await setupVsCodeLab())));
}
