import { join } from 'node:path';
import type * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import type { EngineSupervisor } from '../engine/supervisor';
import type { Disposable } from '../lifecycle';
import { Downloads } from './downloads';
import { HubAccess } from './hub';
import { ModelLibrary } from './library';
import { NetworkLog } from './network_log';
import { ModelStore } from './store';

export interface ModelParts {
  readonly context: vscode.ExtensionContext;
  readonly configuration: Configuration;
  readonly engine: EngineSupervisor;
}

/** The models on this computer, and what was sent over the network to get them. */
export interface Models extends Disposable {
  readonly library: ModelLibrary;
  readonly network: NetworkLog;
}

export function startModels({ context, configuration, engine }: ModelParts): Models {
  const storage = context.globalStorageUri.fsPath;
  const network = new NetworkLog(join(storage, 'network.jsonl'));
  const hub = new HubAccess(configuration, context.secrets, network);
  const store = new ModelStore(join(storage, 'models'));
  const downloads = new Downloads({ store, openHub: (purpose) => hub.open(purpose) });
  const library = new ModelLibrary(engine, store, downloads, hub);
  return { library, network, dispose: () => downloads.dispose() };
}
