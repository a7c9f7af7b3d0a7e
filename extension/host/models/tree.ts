import * as l10n from '@vscode/l10n';
import type * as vscode from 'vscode';
import { MODEL_SOURCES, type InstalledModel } from '../../protocol/models';
import type { Configuration } from '../configuration';
import { DisposableStore, type Disposable } from '../lifecycle';
import { sourceTitle, type ModelLibrary } from './library';
import { thisMachine } from './machine';
import { downloadItem, groupItem, modelItem, recommendationItem } from './tree_items';
import { isGroup, isRecommendation, isUnfinished, type Group, type Node } from './tree_nodes';

/** A download tells of every packet; people see this often. */
const REFRESH_MS = 500;

/**
 * What the Models view shows: the models on this computer, by who keeps them, with what each is used for; downloads; and
 * what is recommended.
 */
export class ModelTree implements Disposable {
  private readonly store = new DisposableStore();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly library: ModelLibrary,
    private readonly configuration: Configuration,
    private readonly tellChange: () => void,
  ) {
    this.store.add({ dispose: () => this.timer && clearTimeout(this.timer) });
    this.store.add(library.onChange(tellChange));
    this.store.add(library.downloads.onChange(() => this.tellSoon()));
    this.store.add(configuration.onChange(tellChange));
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node) return isGroup(node) ? [...node.children] : [];
    const listed = await this.library.list();
    const { modelDir, chatModelDir } = this.configuration.current.engine;
    const others = [...new Set([modelDir, chatModelDir])].filter(
      (path) => path !== '' && !listed.some((model) => model.path === path),
    );
    const chosen = await Promise.all(others.map((path) => this.library.engine.inspectModel(path)));
    const all: InstalledModel[] = [...listed, ...chosen];
    const installed: Group[] = MODEL_SOURCES.map((source) => ({
      id: source,
      title: sourceTitle(source),
      children: all.filter((model) => model.source === source),
    }));
    const groups: Group[] = [
      {
        id: 'downloads',
        title: l10n.t('Downloads'),
        children: await this.library.store.unfinished(),
      },
      ...installed,
      {
        id: 'recommended',
        title: l10n.t('Recommended for This Computer'),
        description: thisMachine().label,
        children: this.library.recommended(listed),
      },
    ];
    return groups.filter(({ children }) => children.length > 0);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (isGroup(node)) return groupItem(node);
    if (isRecommendation(node)) return recommendationItem(node);
    if (isUnfinished(node)) {
      const { running } = this.library.downloads;
      return downloadItem(node, running.find(({ plan }) => sameDownload(plan, node.plan)) ?? null);
    }
    return modelItem(node, this.configuration.current.engine);
  }

  dispose(): void {
    this.store.dispose();
  }

  private tellSoon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.tellChange();
    }, REFRESH_MS);
  }
}

function sameDownload(
  a: { name: string; label: string },
  b: { name: string; label: string },
): boolean {
  return a.name === b.name && a.label === b.label;
}
