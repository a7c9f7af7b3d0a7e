import * as vscode from 'vscode';
import type { Host } from '../host';

const COPY_ENDPOINT = 'Copy Endpoint';
const COPY_TOKEN = 'Copy Token';

/** Starts the server and tells where it is; the token is in nobody's sight unless it is copied. */
export async function startServer(host: Host): Promise<void> {
  const { server, configuration } = host;
  const { url, port, models } = await server.start();
  const wanted = configuration.current.server.port;
  const why = wanted !== 0 && port !== wanted ? ` Port ${wanted} is taken.` : '';
  const choice = await vscode.window.showInformationMessage(
    `anllm: ${models.join(', ')} at ${url}.${why} Clients need the token.`,
    COPY_ENDPOINT,
    COPY_TOKEN,
  );
  if (choice === COPY_ENDPOINT) await copyEndpoint(host);
  if (choice === COPY_TOKEN) await copyToken(host);
}

export async function copyEndpoint({ server }: Host): Promise<void> {
  const { url } = server.address ?? (await server.start());
  await vscode.env.clipboard.writeText(url);
  vscode.window.setStatusBarMessage(`anllm: copied ${url}`, 3000);
}

export async function copyToken({ serverToken }: Host): Promise<void> {
  await vscode.env.clipboard.writeText(await serverToken());
  vscode.window.setStatusBarMessage('anllm: copied the token of the server', 3000);
}
