import * as l10n from '@vscode/l10n';
import type * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import type { NetworkLog } from './network_log';
import type { Hub } from './repository';

/** The hub of the settings, its token, and the record of what is asked of it. */
export class HubAccess {
  constructor(
    private readonly configuration: Configuration,
    private readonly secrets: vscode.SecretStorage,
    private readonly network: NetworkLog,
  ) {}

  /** For people. */
  get host(): string {
    return new URL(this.configuration.current.hubUrl).host;
  }

  /** `purpose` is what the record says of the requests. */
  async open(purpose: string): Promise<Hub> {
    const url = this.configuration.current.hubUrl;
    const token = keepsSecrets(url) ? ((await this.secrets.get(tokenKey(url))) ?? null) : null;
    return { url, token, fetch: this.network.recorded(purpose, fetch) };
  }

  /** Keeps a token for this hub alone; '' forgets it. Rejects where it would be sent in the clear. */
  async setToken(token: string): Promise<void> {
    const url = this.configuration.current.hubUrl;
    if (token === '') return this.secrets.delete(tokenKey(url));
    if (!keepsSecrets(url)) {
      throw new Error(
        l10n.t('{url} is not encrypted, so that a token would be read on its way: use https', {
          url,
        }),
      );
    }
    await this.secrets.store(tokenKey(url), token);
  }
}

/** A token of one hub is never sent to another. */
function tokenKey(url: string): string {
  return `anllm.hub.token:${new URL(url).origin}`;
}

export function keepsSecrets(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
