// @ts-check
/** Running commands, and ending a script with one clear line. Imports nothing that `npm ci` has to bring first. */
import { spawn, spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '..', '..');

/** An expected failure: its message is all that the user sees. */
export class Failure extends Error {}

/**
 * True when the script was started itself, not imported.
 * @param {string} file its import.meta.filename
 */
export const isMain = (file) =>
  process.argv[1] !== undefined && realpathSync(process.argv[1]) === file;

/**
 * The end of a check: its findings on stderr, and exit code 1 when there are any.
 * @param {readonly string[]} findings
 */
export function reportFindings(findings) {
  for (const finding of findings) console.error(finding);
  if (findings.length > 0) process.exitCode = 1;
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Runs a script's main function; a Failure becomes one line on stderr and exit code 1.
 * @param {(args: string[]) => void | Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`\n${error.message}\n`);
    process.exitCode = 1;
  }
}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] added to the current environment
 * @property {number} [timeoutMs] after this time it is ended, then killed, and that is said
 * @property {boolean} [isIdle] it gets the processor when nobody else wants it
 */

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} options
 * @param {import('node:child_process').StdioOptions} stdio
 */
function start(command, args, { cwd = root, env, isIdle = false }, stdio) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio });
  if (isIdle && child.pid !== undefined) {
    setPriority(child.pid, constants.priority.PRIORITY_LOW);
  }
  return child;
}

/**
 * Ends a process that takes too long.
 * @param {import('node:child_process').ChildProcess} child
 * @param {number | undefined} timeoutMs
 * @param {(message: string) => void} onTimeout
 */
function watch(child, timeoutMs, onTimeout) {
  if (timeoutMs === undefined) return;
  const watchdog = setTimeout(() => {
    onTimeout(`${child.spawnargs.join(' ')}: not done after ${timeoutMs / 1000} s`);
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  }, timeoutMs);
  child.on('exit', () => clearTimeout(watchdog));
  child.on('error', () => clearTimeout(watchdog));
}

/**
 * Runs a command with the terminal's own input and output and resolves to its exit code; a signal counts as 1.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<number>}
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = start(command, args, options, 'inherit');
    watch(child, options.timeoutMs, console.error);
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/**
 * Runs a command quietly and resolves to its exit code and everything it printed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function capture(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = start(command, args, options, ['ignore', 'pipe', 'pipe']);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    }
    watch(child, options.timeoutMs, (message) => {
      output += `${message}\n`;
      // What it started may hold its output open.
      child.on('exit', () => resolve({ code: 1, output }));
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Runs a command that has to succeed; otherwise throws a Failure with what it printed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 */
export async function mustSucceed(command, args, options = {}) {
  const { code, output } = await capture(command, args, options);
  if (code !== 0) {
    throw new Failure(`${output.trimEnd()}\n${[command, ...args].join(' ')}: exit code ${code}`);
  }
  return output;
}

/** True when `command` is on the PATH. @param {string} command */
export function hasCommand(command) {
  const lookup = process.platform === 'win32' ? 'where' : 'which';
  return spawnSync(lookup, [command], { stdio: 'ignore' }).status === 0;
}

/** The entry script of an installed npm package. @param {string} file */
export const nodeModule = (file) => path.join(root, 'node_modules', file);
