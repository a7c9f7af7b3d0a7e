/** How the nodes of the view look, and what a screen reader says of them. */
import * as vscode from 'vscode';
import type { EngineSettings } from '../../protocol/engine';
import type { InstalledModel } from '../../protocol/models';
import type { Running } from './downloads';
import { SOURCE_TITLES, sizeLine } from './library';
import { CONTEXT_TOKENS, type Recommendation } from './recommend';
import { showBytes } from './sizes';
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
    ...(modelDir === model.path ? ['completion'] : []),
    ...(chatModelDir === model.path ? ['chat'] : []),
  ];
  const runs = model.unsupported === null;
  const item = new vscode.TreeItem(model.name);
  item.description = [sizeLine(model), ...roles].filter(Boolean).join(' · ');
  const keeper = `Kept by: ${SOURCE_TITLES[model.source]}`;
  item.tooltip = [model.path, keeper, model.unsupported ?? ''].filter(Boolean).join('\n');
  item.iconPath = new vscode.ThemeIcon(runs ? (roles.length > 0 ? 'check' : 'package') : 'warning');
  item.contextValue = `model.${model.source}.${runs ? 'runs' : 'unsupported'}`;
  const problem = runs ? '' : `, not supported: ${model.unsupported}`;
  item.accessibilityInformation = { label: `${model.name}, ${item.description}${problem}` };
  return item;
}

export function downloadItem(
  { plan, doneBytes, totalBytes }: Unfinished,
  running: Running | null,
): vscode.TreeItem {
  const done = Math.max(doneBytes, running?.progress.doneBytes ?? 0);
  const percent = `${Math.floor((100 * done) / Math.max(1, totalBytes))} %`;
  const state = running === null ? 'paused' : `${showBytes(Math.max(0, running.speed))}/s`;
  const item = new vscode.TreeItem(plan.name);
  item.description = `${percent} of ${showBytes(totalBytes)} · ${state}`;
  item.tooltip = `${plan.name}\n${plan.label}\n${showBytes(done)} of ${showBytes(totalBytes)}`;
  item.iconPath = new vscode.ThemeIcon(running === null ? 'debug-pause' : 'loading~spin');
  item.contextValue = running === null ? 'download.paused' : 'download.running';
  item.accessibilityInformation = { label: `${plan.name}, ${item.description}` };
  return item;
}

export function recommendationItem(recommendation: Recommendation): vscode.TreeItem {
  const { task, model, source, memoryBytes, isBest, reason } = recommendation;
  const item = new vscode.TreeItem(model.name);
  item.description = `${task} · ${showBytes(source.sizeBytes)} · ${model.license}`;
  const tooltip = new vscode.MarkdownString();
  tooltip.appendMarkdown(`**${model.name}** for ${task}${isBest ? ' (first choice)' : ''}\n\n`);
  tooltip.appendMarkdown(`${reason}\n\n`);
  tooltip.appendMarkdown(
    [
      `- on disk: about ${showBytes(source.sizeBytes)}`,
      `- in memory: about ${showBytes(memoryBytes)} with ${CONTEXT_TOKENS.toLocaleString('en')} tokens of context`,
      `- licence: ${model.license}`,
      `- from: ${source.repository}`,
    ].join('\n'),
  );
  item.tooltip = tooltip;
  item.iconPath = new vscode.ThemeIcon(isBest ? 'star-full' : 'star-empty');
  item.contextValue = 'recommended';
  item.accessibilityInformation = { label: `${model.name}, ${item.description}. ${reason}` };
  return item;
}
