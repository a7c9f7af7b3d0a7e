// @ts-check
/**
 * Runs test files as `node --test` does, but in the order given, which `node --test` sorts.
 * usage: node --import tsx scripts/node-tests.mjs TIMEOUT_MS FILE...
 */
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { root } from './lib/process.mjs';

const [timeout, ...files] = process.argv.slice(2);

run({
  files: files.map((file) => path.resolve(root, file)),
  concurrency: 2,
  timeout: Number(timeout),
})
  .on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
