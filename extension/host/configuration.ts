import * as vscode from 'vscode';
import { Emitter, type Disposable } from './lifecycle';
import { parseSettings, type Settings } from './settings';

const SECTION = 'anllm';

/** The only reader and writer of the user's settings. */
export class Configuration implements Disposable {
  private settings: Settings;
  private readonly emitter = new Emitter<{ before: Settings; after: Settings }>();
  private readonly subscription: vscode.Disposable;

  constructor(private readonly builtInModel: string) {
    this.settings = this.read();
    this.subscription = vscode.workspace.onDidChangeConfiguration((event) => {
      if (!event.affectsConfiguration(SECTION)) return;
      const before = this.settings;
      this.settings = this.read();
      this.emitter.fire({ before, after: this.settings });
    });
  }

  readonly onChange = this.emitter.event;

  get current(): Settings {
    return this.settings;
  }

  /** True when the completion model is the one that comes with the extension. */
  get hasBuiltInModel(): boolean {
    return this.settings.engine.modelDir === this.builtInModel;
  }

  async setEnabled(enabled: boolean): Promise<void> {
    await this.write('completion.enabled', enabled);
  }

  async setLanguage(languageId: string, enabled: boolean): Promise<void> {
    await this.write('completion.languages', { ...this.settings.languages, [languageId]: enabled });
  }

  /** The completion model. `path`: folder or GGUF file; '' = the built-in one. */
  async setModel(path: string): Promise<void> {
    await this.write('engine.model', path === '' ? undefined : path);
  }

  /** `path`: folder or GGUF file; '' = none. */
  async setChatModel(path: string): Promise<void> {
    await this.write('chat.model', path === '' ? undefined : path);
  }

  /** Writes where the value in force comes from, so that the change is seen. */
  private async write(key: string, value: unknown): Promise<void> {
    const configuration = vscode.workspace.getConfiguration(SECTION);
    const inWorkspace = configuration.inspect(key)?.workspaceValue !== undefined;
    const target = inWorkspace
      ? vscode.ConfigurationTarget.Workspace
      : vscode.ConfigurationTarget.Global;
    await configuration.update(key, value, target);
  }

  private read(): Settings {
    const configuration = vscode.workspace.getConfiguration(SECTION);
    return parseSettings((key) => configuration.get(key), this.builtInModel);
  }

  dispose(): void {
    this.subscription.dispose();
  }
}
