// @ts-check
/** Finds a browser for the workbench: CHROMIUM_PATH, one of the system, or a headless build from npm. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { Failure } from '../lib/process.mjs';
import { unpackChromium } from './chromium-npm.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const mac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/**
 * A browser; the error says which command installs one.
 * @param {import('./lab.mjs').Log} log
 * @returns {Promise<import('./lab.mjs').Browser>}
 */
export async function findChromium(log) {
  const given = process.env.CHROMIUM_PATH;
  if (given) {
    if (isExecutable(given)) return { path: given, env: {} };
    throw new Failure(`CHROMIUM_PATH is ${given}, which is no executable file`);
  }
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const candidates = folders.flatMap((dir) => names.map((name) => path.join(dir, name)));
  const found = [...candidates, mac].find(isExecutable);
  return found !== undefined ? { path: found, env: {} } : unpackChromium(log);
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
