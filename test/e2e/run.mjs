// @ts-check
/** UI end-to-end tests in a real VS Code. usage: node test/e2e/run.mjs [--vsix FILE] [--only WORDS] */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { register } from 'tsx/esm/api';
import { parseTarget } from '../../scripts/cross-build.mjs';
import { runMain } from '../../scripts/lib/process.mjs';
import { packageExtension } from '../../scripts/package.mjs';
import { cache } from '../../scripts/vscode-lab/lab.mjs';
import { setupVsCodeLab } from '../../scripts/vscode-lab/setup.mjs';

await runMain(async (args) => {
  const { values } = parseArgs({
    args,
    options: { vsix: { type: 'string' }, only: { type: 'string', default: '' } },
  });
  const lab = await setupVsCodeLab();
  const target = parseTarget(`${process.platform}-${process.arch}`);
  const vsix =
    values.vsix ?? (await packageExtension(target, path.join(cache, 'e2e', `${target}.vsix`)));
  register();
  const { runSuite } = await import('./suite');
  process.exitCode = await runSuite(lab, vsix, values.only);
});
