// @ts-check
/**
 * What the VS Code lab is made of and where its parts lie. A real VS Code needs no desktop: the npm package
 * code-server carries Microsoft's server, workbench and extension host, and the package node a runtime for them.
 */
import path from 'node:path';
import { root } from '../lib/process.mjs';

export const CODE_SERVER = 'code-server@4.139.1'; // VS Code 1.139.1
export const NODE = 'node@24.21.0'; // the server needs module.registerHooks, which Node 20 lacks
export const CHROMIUM = '@sparticuz/chromium@153.0.0'; // only where the system has no browser

export const cache = path.join(root, '.cache');
export const labRoot = path.join(cache, 'vscode-lab');

/** The parts of a lab that lies in `dir`. */
export const layout = (dir = labRoot) => ({
  stamp: path.join(dir, 'stamp'),
  node: path.join(dir, 'node_modules/node/bin/node'),
  vscode: path.join(dir, 'vscode'),
  server: path.join(dir, 'vscode/out/server-main.js'),
});

/** @typedef {(line: string) => void} Log */
/** @typedef {{ path: string, env: Record<string, string> }} Browser env: the variables that it needs */
/** @typedef {{ node: string, server: string, chromium: Browser }} Lab */
