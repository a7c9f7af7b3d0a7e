import type { InstalledModel } from '../../protocol/models';
import type { Recommendation } from './recommend';
import type { Unfinished } from './store';

export interface Group {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly children: readonly Entry[];
}
export type Entry = InstalledModel | Unfinished | Recommendation;
export type Node = Group | Entry;

export function isGroup(node: Node): node is Group {
  return 'children' in node;
}

/** These are also the arguments of commands from the view's menus, hence of any type. */
export function isInstalledModel(value: unknown): value is InstalledModel {
  return isObject(value) && 'path' in value && 'source' in value;
}

export function isUnfinished(value: unknown): value is Unfinished {
  return isObject(value) && 'plan' in value && 'doneBytes' in value;
}

export function isRecommendation(value: unknown): value is Recommendation {
  return isObject(value) && 'task' in value && 'model' in value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
