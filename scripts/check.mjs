// @ts-check
/** npm run check: layout, lint, types and the rules of the house. Every step runs; the summary names what failed. */
import { availableParallelism } from 'node:os';
import { ensureDependencies } from './lib/dependencies.mjs';
import { capture, isMain, nodeModule, runMain } from './lib/process.mjs';

/** @type {readonly { name: string, args: readonly string[] }[]} longest first, so that two cores end together */
const steps = [
  { name: 'native warnings', args: ['scripts/check/native-warnings.mjs'] },
  {
    name: 'lint',
    args: [nodeModule('eslint/bin/eslint.js'), '--max-warnings=0', '.'],
  },
  { name: 'types', args: [nodeModule('typescript/bin/tsc'), '-p', '.'] },
  { name: 'types of the webview', args: [nodeModule('typescript/bin/tsc'), '-p', 'webview'] },
  { name: 'format', args: ['scripts/check/format.mjs'] },
  { name: 'metal front end', args: ['scripts/check/metal.mjs'] },
  { name: 'native lint', args: ['scripts/check/native-lint.mjs'] },
  { name: 'import rules', args: ['scripts/check/import-rules.mjs'] },
  { name: 'twins', args: ['scripts/check/twins.mjs'] },
  { name: 'file sizes', args: ['scripts/check/file-sizes.mjs'] },
];

/** @returns {Promise<string[]>} names of the steps that failed */
export async function check() {
  const waiting = [...steps];
  /** @type {string[]} */
  const failed = [];
  const worker = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const start = performance.now();
      const { code, output } = await capture(process.execPath, step.args);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${step.name} (${seconds} s)`);
      if (output.trim() !== '') console.log(output.trimEnd());
      if (code !== 0) failed.push(step.name);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, worker));
  return failed;
}

if (isMain(import.meta.filename)) {
  void runMain(async () => {
    await ensureDependencies();
    const failed = await check();
    if (failed.length > 0) {
      console.error(`\nnpm run check failed: ${failed.join(', ')}`);
      process.exitCode = 1;
    }
  });
}
