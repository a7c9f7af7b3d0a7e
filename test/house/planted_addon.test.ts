/** Native code is loaded from the extension's own folder, whatever lies in a workspace or is named by the environment. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildBundles } from '../../scripts/build/bundles.mjs';
import { root } from '../../scripts/lib/process.mjs';
import { startProcess } from '../../extension/host/engine/process';
import type { EngineStatus, EngineSummary } from '../../extension/protocol/engine';
import { SETTINGS, unheard } from '../engine/child/child';

const TUPLE = `${process.platform}-${process.arch}`;
const MODEL = path.join(root, 'extension', 'assets', 'sprout');
const settings = { ...SETTINGS, modelDir: MODEL, threads: 1, contextLength: 512 };

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'anllm-planted-')));
/** The extension as it is installed, with one addon; and a workspace full of others. */
const installed = path.join(folder, 'installed');
const prebuilds = path.join(installed, 'prebuilds');
const workspace = path.join(folder, 'workspace');

before(async () => {
  await buildBundles({ folder: path.join(installed, 'dist') });
  cpSync(path.join(root, 'package.json'), path.join(installed, 'package.json'));
  const addon = path.join(root, 'build', 'Release', 'anllm.node');
  cpSync(addon, path.join(prebuilds, TUPLE, 'anllm.node'));
  for (const place of ['build/Release', 'build/Debug', `prebuilds/${TUPLE}`]) {
    mkdirSync(path.join(workspace, place), { recursive: true });
    writeFileSync(path.join(workspace, place, 'anllm.node'), 'not the addon');
  }
  cpSync(path.join(root, 'package.json'), path.join(workspace, 'package.json'));
});
after(() => rmSync(folder, { recursive: true }));

/** Loads the built-in model in an engine of a VS Code that was started in the workspace. */
async function loaded(): Promise<EngineSummary> {
  const statuses: EngineStatus[] = [];
  const directory = process.cwd();
  process.env['ANLLM_PREBUILD'] = workspace;
  process.chdir(workspace);
  try {
    const link = await startProcess(
      { script: path.join(installed, 'dist', 'engine.js'), settings },
      { ...unheard, onStatus: (status) => statuses.push(status) },
    );
    await link.call('load', null);
    await link.stop();
  } finally {
    process.chdir(directory);
    delete process.env['ANLLM_PREBUILD'];
  }
  const ready = statuses.find((status) => status.state === 'ready');
  assert.ok(ready, JSON.stringify(statuses));
  return ready.engine;
}

describe('an addon that somebody planted', () => {
  it('in the workspace, or by the environment, is not loaded by the editor', async () => {
    const { backend, fallbackReason } = await loaded();
    assert.deepEqual([backend, fallbackReason], ['cpu', null]);
  });

  it('in the current folder is not loaded by the command line', () => {
    const cli = path.join(installed, 'dist', 'cli.js');
    const args = [cli, 'run', 'x', '--raw', '--json', '--max-tokens', '1', '--model', MODEL];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: workspace,
      encoding: 'utf8',
    });
    assert.equal((JSON.parse(stdout) as { backend: string }).backend, 'cpu', stderr);
  });
});

describe('without an addon for this machine', () => {
  before(() => rmSync(prebuilds, { recursive: true }));

  it('the engine runs, slowly, and says what is missing and what to do', async () => {
    const { backend, fallbackReason } = await loaded();
    assert.equal(backend, 'reference');
    assert.match(
      fallbackReason ?? '',
      /native engine cannot be loaded: No native build was found for platform=.*; reinstall the extension/,
    );
    assert.ok(!fallbackReason?.includes(workspace), fallbackReason ?? '');
  });
});
