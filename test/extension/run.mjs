// @ts-check
/** The suites of this folder inside the extension host of a real VS Code. usage: node test/extension/run.mjs */
import path from 'node:path';
import { register } from 'tsx/esm/api';
import { root, runMain } from '../../scripts/lib/process.mjs';
import { cache } from '../../scripts/vscode-lab/lab.mjs';
import { setupVsCodeLab } from '../../scripts/vscode-lab/setup.mjs';
import { bundleSuites } from './bundle.mjs';

const TIMEOUT_MS = 180_000;

await runMain(async () => {
  const lab = await setupVsCodeLab();
  const tests = await bundleSuites();
  register();
  const { runInExtensionHost } = await import('../e2e/driver/extension-host');
  const { writeEchoModel } = await import('../e2e/template_models');
  const settings = { 'anllm.chat.model': writeEchoModel(path.join(cache, 'e2e', 'echo-model')) };
  const run = await runInExtensionHost(lab, {
    extension: root,
    tests,
    timeoutMs: TIMEOUT_MS,
    settings,
  });
  if (run.results === null) {
    console.log(`${run.output}\nextension host: the suites did not end in ${TIMEOUT_MS / 1000} s`);
    process.exitCode = 1;
    return;
  }
  /** @type {import('./index').Outcome[]} */
  const outcomes = JSON.parse(run.results);
  for (const { title, durationMs, error } of outcomes) {
    console.log(`${error === null ? 'ok    ' : 'FAILED'} ${title} (${durationMs} ms)`);
    if (error !== null) console.log(error);
  }
  const failed = outcomes.filter(({ error }) => error !== null).length;
  console.log(`extension host: ${outcomes.length - failed} of ${outcomes.length} tests passed`);
  if (failed > 0 || outcomes.length === 0) process.exitCode = 1;
});
