import * as l10n from '@vscode/l10n';
import type { Host } from '../host';
import type { Disposable } from '../lifecycle';
import { Page } from '../page';

const page = new Page('anllm-network');

/** Serves the page as a read-only document. */
export function registerNetworkDocument({ models, configuration, server }: Host): Disposable {
  return page.serve(async () => {
    const { renderNetwork } = await import('./network_page');
    const { network } = await models.get();
    return renderNetwork({
      entries: await network.entries(),
      hubUrl: configuration.current.hubUrl,
      remoteUrl: configuration.current.engine.remote?.url ?? null,
      serverUrl: server.address?.url ?? null,
    });
  });
}

/** Opens it with what is known now. */
export function showNetwork(): Promise<void> {
  const name = l10n.t({
    message: 'Network activity',
    comment: 'the name of a document, without /',
  });
  return page.show(name);
}
