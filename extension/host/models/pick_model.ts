/** The questions before a download: which model, and what of it. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { number } from '../../protocol/numbers';
import { taskTitle } from './catalogue';
import { modelBudget, thisMachine } from './machine';
import type { ModelLibrary } from './library';
import type { Recommendation } from './recommend';
import { isRepositoryName, type RemoteModel, type Variant } from './repository';
import { searchModels, type SearchHit } from './search';
import { showBytes, showProgress } from './sizes';
import type { Unfinished } from './store';
import { gist, suggested } from './quantization';

export type Wish =
  | { readonly kind: 'resume'; readonly unfinished: Unfinished }
  | { readonly kind: 'recommended'; readonly recommendation: Recommendation }
  | { readonly kind: 'repository'; readonly name: string }
  | { readonly kind: 'search'; readonly words: string };

type Item = vscode.QuickPickItem & { readonly wish?: Wish };

/** What is typed goes nowhere before it is accepted. */
export async function askWish(library: ModelLibrary): Promise<Wish | undefined> {
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = l10n.t('Download a model for this computer: {computer}', {
    computer: thisMachine().label,
  });
  pick.placeholder = l10n.t('Search {host}, or give a name such as Qwen/Qwen3-4B-GGUF', {
    host: library.hub.host,
  });
  pick.ignoreFocusOut = true;
  pick.matchOnDescription = true;
  const offers = await offersOf(library);
  const update = (): void => {
    const typed = pick.value.trim();
    pick.items = typed === '' ? offers : [typedItem(typed, library.hub.host), ...offers];
  };
  update();
  try {
    return await new Promise((resolve) => {
      pick.onDidChangeValue(update);
      pick.onDidAccept(() => {
        const [item] = pick.selectedItems;
        const typed = pick.value.trim();
        // Enter may come before the row of what was typed is there.
        resolve(item?.wish ?? (typed === '' ? undefined : typedItem(typed, '').wish));
      });
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
  } finally {
    pick.dispose();
  }
}

async function offersOf(library: ModelLibrary): Promise<Item[]> {
  const unfinished = (await library.store.unfinished()).filter(
    ({ plan }) => !library.downloads.isRunning(plan),
  );
  const recommended = library.recommended(await library.list());
  return [
    ...section(l10n.t('Paused'), unfinished.map(resumeItem)),
    ...section(l10n.t('Recommended'), recommended.map(offerItem)),
  ];
}

function section(label: string, items: readonly Item[]): Item[] {
  return items.length === 0 ? [] : [{ label, kind: vscode.QuickPickItemKind.Separator }, ...items];
}

function resumeItem(unfinished: Unfinished): Item {
  const { plan, doneBytes, totalBytes } = unfinished;
  return {
    label: `$(debug-continue) ${l10n.t('Go on with {name}', { name: plan.name })}`,
    description: `${plan.label}, ${showProgress(doneBytes, totalBytes)}`,
    wish: { kind: 'resume', unfinished },
  };
}

function offerItem(recommendation: Recommendation): Item {
  const { task, model, source, memoryBytes, isBest, reason } = recommendation;
  return {
    label: `$(${isBest ? 'star-full' : 'star-empty'}) ${model.name}`,
    description: [
      taskTitle(task),
      l10n.t('{size}, {memory} in memory', {
        size: showBytes(source.sizeBytes),
        memory: showBytes(memoryBytes),
      }),
      model.license,
    ].join(' · '),
    detail: reason,
    wish: { kind: 'recommended', recommendation },
  };
}

function typedItem(typed: string, host: string): Item {
  const name = nameIn(typed);
  return isRepositoryName(name)
    ? { label: `$(repo) ${name}`, alwaysShow: true, wish: { kind: 'repository', name } }
    : {
        label: `$(search) ${l10n.t('Search {host} for “{words}”', { host, words: typed })}`,
        alwaysShow: true,
        wish: { kind: 'search', words: typed },
      };
}

/** The name itself, or in the address of its page. */
function nameIn(text: string): string {
  return /^https?:\/\/[^/]+\/([^/]+\/[^/?#]+)/.exec(text)?.[1] ?? text;
}

/** `490 million parameters` */
function showParameters(count: number): string {
  return count < 1e9
    ? l10n.t('{count} million parameters', { count: number(count / 1e6) })
    : l10n.t('{count} billion parameters', { count: number(count / 1e9, 1) });
}

/** @returns the name of a repository */
export async function askHit(words: string, library: ModelLibrary): Promise<string | undefined> {
  const { hits, leftOut } = await vscode.window.withProgress(
    {
      location: vscode.ProgressLocation.Notification,
      title: l10n.t('anllm: searching {host} for “{words}”', { host: library.hub.host, words }),
    },
    async () => {
      const families = await library.engine.families();
      return searchModels(
        words,
        await library.hub.open(l10n.t('search for “{words}”', { words })),
        families,
      );
    },
  );
  if (hits.length === 0) throw new Error(nothingFound(words, leftOut));
  const choice = await vscode.window.showQuickPick(hits.map(hitItem), {
    title: foundTitle(words, hits.length, leftOut),
    ignoreFocusOut: true,
    matchOnDescription: true,
  });
  return choice?.name;
}

function nothingFound(words: string, leftOut: number): string {
  return leftOut === 0
    ? l10n.t('nothing was found for “{words}”', { words })
    : l10n.t(
        'nothing to run was found for “{words}”; models that this engine does not run are left out: {leftOut}',
        { words, leftOut },
      );
}

function foundTitle(words: string, count: number, leftOut: number): string {
  return leftOut === 0
    ? l10n.t('Models for “{words}”: {count}', { words, count })
    : l10n.t(
        'Models for “{words}”: {count}; left out, since this engine does not run them: {leftOut}',
        {
          words,
          count,
          leftOut,
        },
      );
}

function hitItem(hit: SearchHit): vscode.QuickPickItem & { readonly name: string } {
  const { name, license, isGated, downloads, format, sizeBytes, parameters } = hit;
  const size = [
    format,
    parameters === null ? '' : showParameters(parameters),
    sizeBytes === null ? '' : showBytes(sizeBytes),
  ];
  return {
    name,
    label: `${isGated ? '$(lock)' : '$(repo)'} ${name}`,
    description: size.filter(Boolean).join(' · '),
    detail: [
      l10n.t('Licence: {license}', { license }),
      l10n.t('{count} downloads', { count: number(downloads) }),
      isGated ? l10n.t('gated: wants a token and your consent on its page') : '',
    ]
      .filter(Boolean)
      .join(' · '),
  };
}

export async function askVariant(
  model: RemoteModel,
  variants: readonly Variant[],
): Promise<Variant | undefined> {
  const budget = modelBudget(thisMachine());
  const best = suggested(variants, budget);
  const choice = await vscode.window.showQuickPick(
    variants.map((variant) => variantItem(variant, variant === best, budget)),
    {
      title: l10n.t('{name}: what to download', { name: model.name }),
      placeHolder: l10n.t('Licence: {license}', { license: model.license }),
      ignoreFocusOut: true,
      matchOnDescription: true,
    },
  );
  return choice?.variant;
}

function variantItem(
  variant: Variant,
  isBest: boolean,
  budget: number,
): vscode.QuickPickItem & { readonly variant: Variant } {
  const fits = variant.sizeBytes <= budget;
  const icon = isBest ? '$(star-full) ' : fits ? '' : '$(warning) ';
  const notes = [
    gist(variant.label),
    fits ? '' : l10n.t('more than models should take of this computer’s memory'),
  ];
  return {
    label: `${icon}${variant.label}`,
    description: showBytes(variant.sizeBytes),
    detail: notes.filter(Boolean).join('; '),
    variant,
  };
}
