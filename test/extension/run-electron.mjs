// @ts-check
/**
 * The suites of this folder in desktop VS Code, where it can be downloaded. On Linux without a display:
 * xvfb-run -a npm run test:electron
 */
import { runTests } from '@vscode/test-electron';
import { root } from '../../scripts/lib/process.mjs';
import { bundleSuites } from './bundle.mjs';

const sandboxFlags = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
await runTests({
  extensionDevelopmentPath: root,
  extensionTestsPath: await bundleSuites(),
  extensionTestsEnv: { ANLLM_TEST: '1' },
  launchArgs: ['--disable-extensions', '--disable-workspace-trust', ...sandboxFlags],
});
