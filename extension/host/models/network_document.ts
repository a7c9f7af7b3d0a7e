import * as vscode from 'vscode';
import type { Host } from '../host';
import type { Disposable } from '../lifecycle';

const SCHEME = 'anllm-network';
const URI = vscode.Uri.parse(`${SCHEME}:/Network activity.md`);
const changed = new vscode.EventEmitter<vscode.Uri>();

/** Serves the page as a read-only document. */
export function registerNetworkDocument({ models, configuration, server }: Host): Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    provideTextDocumentContent: async () => {
      const { renderNetwork } = await import('./network_page');
      const { network } = await models.get();
      return renderNetwork({
        entries: await network.entries(),
        hubUrl: configuration.current.hubUrl,
        remoteUrl: configuration.current.engine.remote?.url ?? null,
        serverUrl: server.address?.url ?? null,
      });
    },
  });
}

/** Opens it with what is known now. */
export async function showNetwork(): Promise<void> {
  changed.fire(URI);
  const document = await vscode.workspace.openTextDocument(URI);
  await vscode.window.showTextDocument(document, { preview: true });
}
