import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from '../../../scripts/vscode-lab/lab.mjs';
import { launchBrowser, newPage } from './browser';
import { Sandbox } from './sandbox';
import { VsCodeServer } from './server';

export interface ExtensionHostRun {
  /** Folder of the extension's package.json; it is loaded from there, as in development. */
  readonly extension: string;
  /** CommonJS file whose run() the extension host calls. */
  readonly tests: string;
  readonly timeoutMs: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * Runs a test bundle inside the extension host, as `code --extensionTestsPath` does.
 * @returns what the bundle wrote to ANLLM_TEST_RESULTS, or null when it never came so far, and VS Code's own output
 */
export async function runInExtensionHost(
  lab: Lab,
  { extension, tests, timeoutMs, settings }: ExtensionHostRun,
): Promise<{ results: string | null; output: string }> {
  const sandbox = new Sandbox(settings);
  const resultsFile = join(sandbox.root, 'results.json');
  const server = await VsCodeServer.start(lab, sandbox, {
    env: { ANLLM_TEST: '1', ANLLM_TEST_RESULTS: resultsFile },
    smokeTestDriver: true, // a built workbench ignores the payload without it
  });
  const browser = await launchBrowser(lab);
  try {
    const page = await newPage(browser);
    const output: string[] = [];
    await page.exposeFunction('codeAutomationLog', (type: string, args: unknown[]) =>
      output.push(`[${type}] ${args.map(String).join(' ')}`),
    );
    const ended = new Promise<void>((resolve) => {
      setTimeout(resolve, timeoutMs).unref();
      page.exposeFunction('codeAutomationExit', () => resolve()).catch(() => resolve());
    });
    const remote = (path: string): string => `vscode-remote://127.0.0.1:${server.port}${path}`;
    const payload = JSON.stringify([
      ['extensionDevelopmentPath', remote(extension)],
      ['extensionTestsPath', remote(tests)],
      ['skipWelcome', 'true'],
    ]);
    const query = new URLSearchParams({ folder: sandbox.workspace, payload });
    await page.goto(`${server.origin}/?${query.toString()}`);
    await ended;
    const results = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : null;
    return { results, output: output.join('\n') };
  } finally {
    await browser.close();
    await server.stop();
    sandbox.dispose();
  }
}
