import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { Host } from '../host';
import type { Disposable } from '../lifecycle';

const SCHEME = 'anllm-network';
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
  const name = l10n.t({
    message: 'Network activity',
    comment: 'the name of a document, without /',
  });
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}.md` });
  changed.fire(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { preview: true });
}
