import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Host } from '../host';

/** Starts the server and tells where it is; the token is in nobody's sight unless it is copied. */
export async function startServer(host: Host): Promise<void> {
  const { server, configuration } = host;
  const { url, port, models } = await server.start();
  const wanted = configuration.current.server.port;
  const args = { models: models.join(', '), url, wanted };
  const message =
    wanted === 0 || port === wanted
      ? l10n.t('anllm: {models} at {url}. Clients need the token.', args)
      : l10n.t('anllm: {models} at {url}. Port {wanted} is taken. Clients need the token.', args);
  const copiesEndpoint = l10n.t('Copy Endpoint');
  const copiesToken = l10n.t('Copy Token');
  const choice = await vscode.window.showInformationMessage(message, copiesEndpoint, copiesToken);
  if (choice === copiesEndpoint) await copyEndpoint(host);
  if (choice === copiesToken) await copyToken(host);
}

export async function copyEndpoint({ server }: Host): Promise<void> {
  const { url } = server.address ?? (await server.start());
  await vscode.env.clipboard.writeText(url);
  vscode.window.setStatusBarMessage(l10n.t('anllm: copied {url}', { url }), 3000);
}

export async function copyToken({ serverToken }: Host): Promise<void> {
  await vscode.env.clipboard.writeText(await serverToken());
  vscode.window.setStatusBarMessage(l10n.t('anllm: copied the token of the server'), 3000);
}
