// @ts-check
/** Work that one process at a time may do, such as a build that several tests need. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';

const POLL_MS = 100;

/**
 * Does the work as soon as no other process holds the lock. The lock of a process that ended is nobody's.
 * @template T
 * @param {string} lock absolute path of a file
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function alone(lock, work) {
  mkdirSync(path.dirname(lock), { recursive: true });
  while (!take(lock)) {
    if (isOwnerGone(lock)) rmSync(lock, { force: true });
    await setTimeout(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** @param {string} lock */
function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} lock */
function isOwnerGone(lock) {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return false;
  } catch (error) {
    // Any other error: it was released just now, or belongs to somebody else.
    return codeOf(error) === 'ESRCH';
  }
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Error && 'code' in error ? error.code : undefined);
