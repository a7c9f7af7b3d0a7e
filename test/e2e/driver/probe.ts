import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestApi } from '../../../extension/host/main';
import type { Sandbox } from './sandbox';
import { until } from '../../until';

export type Counters = ReturnType<TestApi['counters']>;
export type Decision = ReturnType<TestApi['decisions']>[number];

/** What the extension's test API tells (ANLLM_TEST=1). */
export interface HostState {
  readonly counters: Counters;
  /** Newest first. */
  readonly decisions: readonly Decision[];
  /** Of every open file by its name, saved or not. */
  readonly texts: Readonly<Record<string, string>>;
}

/** A busy machine takes its time to start all built-in extensions. */
const STARTUP_MS = 60_000;

/** Reads the extension's test API through a second extension that sits in the same host. */
export class Probe {
  private constructor(private readonly url: string) {}

  /** Packs the probe extension. @returns its .vsix */
  static async pack(sandbox: Sandbox): Promise<string> {
    const folder = fileURLToPath(new URL('../probe', import.meta.url));
    const vsix = join(sandbox.root, 'probe.vsix');
    const vsce = createRequire(import.meta.url).resolve('@vscode/vsce/vsce');
    const flags = ['--no-dependencies', '--allow-missing-repository', '--skip-license'];
    const args = [vsce, 'package', ...flags, '--out', vsix];
    await promisify(execFile)(process.execPath, args, { cwd: folder });
    return vsix;
  }

  /** @param portFile the file that ANLLM_E2E_PROBE names in the extension host */
  static async connect(portFile: string): Promise<Probe> {
    const port = await until(
      'the probe extension',
      () => Number(readFileSync(portFile, 'utf8')),
      STARTUP_MS,
    );
    const probe = new Probe(`http://127.0.0.1:${port}`);
    await until('anllm to be active', () => probe.state(), STARTUP_MS);
    return probe;
  }

  /** Null while anllm is not active. */
  async state(): Promise<HostState | null> {
    const response = await fetch(this.url);
    return (await response.json()) as HostState | null;
  }
}
