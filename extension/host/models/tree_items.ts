/** How the nodes of the view look, and what a screen reader says of them. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { EngineSettings } from '../../protocol/engine';
import type { InstalledModel } from '../../protocol/models';
import { number } from '../../protocol/numbers';
import type { Running } from './downloads';
import { taskTitle } from './catalogue';
import { sizeLine, sourceTitle } from './library';
import { CONTEXT_TOKENS, type Recommendation } from './recommend';
import { showBytes, showProgress, showSpeed } from './sizes';
import type { Unfinished } from './store';
import type { Group } from './tree_nodes';

export function groupItem({ id, title, description }: Group): vscode.TreeItem {
  const item = new vscode.TreeItem(title, vscode.TreeItemCollapsibleState.Expanded);
  item.id = `group ${id}`;
  if (description !== undefined) item.description = description;
  return item;
}

export function modelItem(
  model: InstalledModel,
  { modelDir, chatModelDir }: EngineSettings,
): vscode.TreeItem {
  const roles = [
    ...(modelDir === model.path ? [taskTitle('completion')] : []),
    ...(chatModelDir === model.path ? [taskTitle('chat')] : []),
  ];
  const runs = model.unsupported === null;
  const item = new vscode.TreeItem(model.name);
  item.description = [sizeLine(model), ...roles].filter(Boolean).join(' · ');
  const keeper = l10n.t('Kept by: {source}', { source: sourceTitle(model.source) });
  item.tooltip = [model.path, keeper, model.unsupported ?? ''].filter(Boolean).join('\n');
  item.iconPath = new vscode.ThemeIcon(runs ? (roles.length > 0 ? 'check' : 'package') : 'warning');
  item.contextValue = `model.${model.source}.${runs ? 'runs' : 'unsupported'}`;
  const label = `${model.name}, ${item.description}`;
  item.accessibilityInformation = {
    label:
      model.unsupported === null
        ? label
        : l10n.t('{label}, not supported: {problem}', { label, problem: model.unsupported }),
  };
  return item;
}

export function downloadItem(
  { plan, doneBytes, totalBytes }: Unfinished,
  running: Running | null,
): vscode.TreeItem {
  const done = Math.max(doneBytes, running?.progress.doneBytes ?? 0);
  const percent = Math.floor((100 * done) / Math.max(1, totalBytes));
  const total = showBytes(totalBytes);
  const state = running === null ? l10n.t('paused') : showSpeed(running.speed);
  const item = new vscode.TreeItem(plan.name);
  item.description = `${l10n.t('{percent} % of {total}', { percent, total })} · ${state}`;
  item.tooltip = [plan.name, plan.label, showProgress(done, totalBytes)].join('\n');
  item.iconPath = new vscode.ThemeIcon(running === null ? 'debug-pause' : 'loading~spin');
  item.contextValue = running === null ? 'download.paused' : 'download.running';
  item.accessibilityInformation = { label: `${plan.name}, ${item.description}` };
  return item;
}

export function recommendationItem(recommendation: Recommendation): vscode.TreeItem {
  const { task, model, source, memoryBytes, isBest, reason } = recommendation;
  const item = new vscode.TreeItem(model.name);
  item.description = `${taskTitle(task)} · ${showBytes(source.sizeBytes)} · ${model.license}`;
  const tooltip = new vscode.MarkdownString();
  const args = { model: model.name, task: taskTitle(task) };
  const head = isBest
    ? l10n.t('**{model}** for {task} (first choice)', args)
    : l10n.t('**{model}** for {task}', args);
  tooltip.appendMarkdown(`${head}\n\n${reason}\n\n`);
  const facts = [
    l10n.t('on disk: about {size}', { size: showBytes(source.sizeBytes) }),
    l10n.t('in memory: about {size} with {tokens} tokens of context', {
      size: showBytes(memoryBytes),
      tokens: number(CONTEXT_TOKENS),
    }),
    l10n.t('licence: {license}', { license: model.license }),
    l10n.t('from: {repository}', { repository: source.repository }),
  ];
  tooltip.appendMarkdown(facts.map((fact) => `- ${fact}`).join('\n'));
  item.tooltip = tooltip;
  item.iconPath = new vscode.ThemeIcon(isBest ? 'star-full' : 'star-empty');
  item.contextValue = 'recommended';
  item.accessibilityInformation = { label: `${model.name}, ${item.description}. ${reason}` };
  return item;
}
