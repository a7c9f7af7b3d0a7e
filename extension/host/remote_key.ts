import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { EngineSettings } from '../protocol/engine';
import type { Disposable } from './lifecycle';

const SECRET = 'anllm.remote.apiKey';

/** The API key of the remote server: kept by VS Code in the system's key store, never in settings. */
export class RemoteKey implements Disposable {
  private readonly subscription: vscode.Disposable;

  /** `onChange`: another key counts from now on. */
  constructor(
    private readonly secrets: vscode.SecretStorage,
    onChange: () => void,
  ) {
    this.subscription = secrets.onDidChange(({ key }) => key === SECRET && onChange());
  }

  /** The settings with the key, where a remote server is set. */
  async complete(settings: EngineSettings): Promise<EngineSettings> {
    const { remote } = settings;
    if (remote === null) return settings;
    return { ...settings, remote: { ...remote, apiKey: (await this.secrets.get(SECRET)) ?? '' } };
  }

  /** Asks for a key; an empty one removes it. */
  async ask(): Promise<void> {
    const key = await vscode.window.showInputBox({
      title: l10n.t('API key of the remote server'),
      prompt: l10n.t(
        'Sent as a bearer token to the address in anllm.remote.url only. Leave it empty to remove the key.',
      ),
      password: true,
      ignoreFocusOut: true,
    });
    if (key === undefined) return;
    if (key.trim() === '') await this.secrets.delete(SECRET);
    else await this.secrets.store(SECRET, key.trim());
  }

  dispose(): void {
    this.subscription.dispose();
  }
}
