import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Settings of every session: no update checks, no welcome page, and no suggest list, which hides ghost text that differs from it. */
const SETTINGS = {
  'chat.commandCenter.enabled': false,
  'editor.minimap.enabled': false,
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.renderWhitespace': 'none',
  'editor.suggestOnTriggerCharacters': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'git.enabled': false,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

/** A fresh home, profile and workspace for one session, in a temporary folder. */
export class Sandbox {
  readonly root = mkdtempSync(join(tmpdir(), 'anllm-e2e-'));
  readonly home = join(this.root, 'home');
  readonly data = join(this.root, 'data');
  readonly extensions = join(this.root, 'extensions');
  readonly workspace = join(this.root, 'workspace');

  private changes: Readonly<Record<string, unknown>> = {};

  constructor(private readonly settings: Readonly<Record<string, unknown>> = {}) {
    for (const dir of [this.home, this.data, this.extensions, this.workspace]) mkdirSync(dir);
    this.configure({});
  }

  /** Changes settings of a running VS Code, beside earlier changes; undefined is that of the session again. */
  configure(changes: Readonly<Record<string, unknown>>): void {
    this.changes = { ...this.changes, ...changes };
    const changed = Object.entries(this.changes).filter(([, value]) => value !== undefined);
    const settings = { ...this.settings, ...Object.fromEntries(changed) };
    // The workbench runs in a browser, so that the settings of the extension host's machine are a file of their own.
    for (const [scope, values] of [
      ['User', { ...SETTINGS, ...settings }],
      ['Machine', settings],
    ] as const) {
      const file = join(this.data, 'data', scope, 'settings.json');
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(values, null, 2));
    }
  }

  /** Puts a file into the workspace and returns its path. */
  write(name: string, text: string): string {
    const path = join(this.workspace, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), 'utf8');
  }

  dispose(): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}
