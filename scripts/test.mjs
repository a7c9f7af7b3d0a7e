// @ts-check
/**
 * npm test [-- FILE...]: installs what is missing, builds, checks, then runs the tests in a real VS Code and every
 * test/**\/*.test.ts. Every step runs, so that one failure does not hide another; the node test runner comes last.
 * With files, only those tests run.
 */
import { build } from './build.mjs';
import { listFiles } from './lib/content-hash.mjs';
import { capture, run, runMain } from './lib/process.mjs';

/** What hangs is killed and named; the slowest file and the slower suite need a fifth of this. */
const WATCHDOG_MS = 12 * 60_000;

/** @typedef {{ name: string, script: string, timeoutMs?: number }} Step */

/** They bring VS Code and a browser themselves, say what they lack, and wait most of their time. @type {readonly Step[]} */
const inVsCode = [
  { name: 'In the extension host', script: 'test/extension/run.mjs' },
  { name: 'End to end, in a real VS Code', script: 'test/e2e/run.mjs' },
];

/** They have what processor time those leave. @type {readonly Step[]} */
const beside = [
  { name: 'Builds for the tests', script: 'test/builds.mjs', timeoutMs: 2 * WATCHDOG_MS },
  { name: 'Check', script: 'scripts/check.mjs' },
];

/** The longest files, those of emulated machines, come first: the cores end together then. */
const firstFiles = [/^test\/metal\/engine\./, /^test\/house\/arm64\./, /^test\/metal\//];

/** All test files in the order in which they begin. */
function testFiles() {
  const files = listFiles('test', /\.test\.ts$/);
  const first = firstFiles.flatMap((pattern) => files.filter((file) => pattern.test(file)));
  return [...new Set([...first, ...files])];
}

/** @param {readonly string[]} files */
const runNodeTests = (files) =>
  run(process.execPath, [
    '--import',
    'tsx',
    'scripts/node-tests.mjs',
    String(WATCHDOG_MS),
    ...files,
  ]);

/** @param {string} title */
const heading = (title) => console.log(`\n=== ${title}`);

/** Runs steps one after the other. @returns {Promise<readonly (Step & { code: number, output: string })[]>} */
async function runBeside() {
  const results = [];
  for (const step of beside) {
    const options = { timeoutMs: step.timeoutMs ?? WATCHDOG_MS, isIdle: true };
    results.push({ ...step, ...(await capture(process.execPath, [step.script], options)) });
  }
  return results;
}

await runMain(async (files) => {
  heading('Build');
  await build();
  if (files.length > 0) {
    process.exitCode = await runNodeTests(files);
    return;
  }

  /** @type {string[]} */
  const failed = [];
  const others = runBeside();
  for (const { name, script } of inVsCode) {
    heading(name);
    if ((await run(process.execPath, [script], { timeoutMs: WATCHDOG_MS })) !== 0)
      failed.push(name);
  }
  for (const { name, code, output } of await others) {
    heading(name);
    console.log(output.trimEnd());
    if (code !== 0) failed.push(name);
  }

  heading('Tests');
  if (failed.length > 0) console.error(`Failed before the tests below: ${failed.join(', ')}`);
  const code = await runNodeTests(testFiles());
  process.exitCode = failed.length > 0 ? 1 : code;
});
