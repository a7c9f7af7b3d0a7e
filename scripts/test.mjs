// @ts-check
/**
 * npm test [-- FILE...]: installs what is missing, builds, checks, then runs the tests in a real VS Code and every
 * test/**\/*.test.ts. Every step runs, so that one failure does not hide another; the node test runner comes last.
 * With files, only those tests run.
 */
import { build } from './build.mjs';
import { check } from './check.mjs';
import { listFiles } from './lib/content-hash.mjs';
import { run, runMain } from './lib/process.mjs';

/** They bring VS Code and a browser themselves, and say what they lack. */
const inVsCode = [
  { name: 'In the extension host', script: 'test/extension/run.mjs' },
  { name: 'End to end, in a real VS Code', script: 'test/e2e/run.mjs' },
];

/** What hangs is killed and named; the slowest file and the slower suite need a fifth of this. */
const WATCHDOG_MS = 12 * 60_000;

/** @param {readonly string[]} files */
const runNodeTests = (files) =>
  run(process.execPath, [
    '--import',
    'tsx',
    '--test',
    '--test-concurrency=2',
    `--test-timeout=${WATCHDOG_MS}`,
    '--test-reporter=spec',
    ...files,
  ]);

/** @param {string} title */
const heading = (title) => console.log(`\n=== ${title}`);

await runMain(async (files) => {
  heading('Build');
  await build();
  if (files.length > 0) {
    process.exitCode = await runNodeTests(files);
    return;
  }

  heading('Check');
  const failed = await check();

  for (const { name, script } of inVsCode) {
    heading(name);
    if ((await run(process.execPath, [script], { timeoutMs: WATCHDOG_MS })) !== 0)
      failed.push(name);
  }

  heading('Tests');
  if (failed.length > 0) console.error(`Failed before the tests below: ${failed.join(', ')}`);
  const code = await runNodeTests(listFiles('test', /\.test\.ts$/));
  process.exitCode = failed.length > 0 ? 1 : code;
});
