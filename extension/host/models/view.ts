import * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import { DisposableStore, Lazy, type Disposable } from '../lifecycle';
import type { Models } from './models';
import type { Node } from './tree_nodes';

const MODELS_VIEW = 'anllm.modelsView';

/** The Models view. Its tree is made when somebody looks at it. */
export function registerModelsView(models: Lazy<Models>, configuration: Configuration): Disposable {
  const store = new DisposableStore();
  const changed = store.add(new vscode.EventEmitter<void>());
  const tree = store.add(
    new Lazy(async () => {
      const { ModelTree } = await import('./tree');
      const { library } = await models.get();
      return new ModelTree(library, configuration, () => changed.fire());
    }),
  );
  store.add(
    vscode.window.registerTreeDataProvider<Node>(MODELS_VIEW, {
      onDidChangeTreeData: changed.event,
      getChildren: async (node) => (await tree.get()).getChildren(node),
      getTreeItem: async (node) => (await tree.get()).getTreeItem(node),
    }),
  );
  return store;
}
