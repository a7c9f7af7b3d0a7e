import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { CommandId } from './command_ids';
import { explain } from './completion/decisions';
import type { Host } from './host';
import { languageEnabled } from './settings';

interface Item extends vscode.QuickPickItem {
  readonly command?: CommandId;
  readonly argument?: number;
}

/** The menu of the status bar item. */
export async function showMenu(host: Host): Promise<void> {
  const choice = await vscode.window.showQuickPick(items(host), { title: 'anllm' });
  if (choice?.command) await vscode.commands.executeCommand(choice.command, choice.argument);
}

function items(host: Host): Item[] {
  const { configuration, snooze } = host;
  const { enabled } = configuration.current;
  const list: Item[] = [
    enabled
      ? { label: `$(circle-slash) ${l10n.t('Disable completions')}`, command: 'anllm.disable' }
      : { label: `$(check) ${l10n.t('Enable completions')}`, command: 'anllm.enable' },
  ];
  const languageId = vscode.window.activeTextEditor?.document.languageId;
  if (languageId !== undefined) {
    const toggle = languageEnabled(configuration.current, languageId)
      ? l10n.t('Disable completions for {languageId}', { languageId })
      : l10n.t('Enable completions for {languageId}', { languageId });
    list.push({ label: `$(code) ${toggle}`, command: 'anllm.toggleLanguage' });
  }
  list.push(separator(l10n.t('Snooze')));
  if (snooze.active) {
    const description = l10n.t('{minutes} min left', { minutes: snooze.minutesLeft });
    list.push({
      label: `$(bell) ${l10n.t('End snooze')}`,
      description,
      command: 'anllm.snooze',
      argument: 0,
    });
  }
  for (const minutes of [5, 15, 60]) {
    list.push({
      label: `$(bell-slash) ${l10n.t('Snooze for {minutes} minutes', { minutes })}`,
      command: 'anllm.snooze',
      argument: minutes,
    });
  }
  list.push(
    separator(l10n.t('This place')),
    { label: `$(sparkle) ${l10n.t('Trigger completion')}`, command: 'anllm.trigger' },
    {
      label: `$(question) ${l10n.t('Why no suggestion?')}`,
      description: lastReason(host),
      command: 'anllm.whyNoSuggestion',
    },
    separator(l10n.t('Chat')),
    { label: `$(comment-discussion) ${l10n.t('Open chat')}`, command: 'anllm.chat.open' },
    { label: `$(edit) ${l10n.t('Edit code here')}`, command: 'anllm.edit.start' },
    {
      label: `$(symbol-misc) ${l10n.t('Choose chat model')}`,
      description: configuration.current.engine.chatModelDir,
      command: 'anllm.chat.chooseModel',
    },
    separator(l10n.t('Models')),
    { label: `$(cloud-download) ${l10n.t('Download model')}`, command: 'anllm.models.download' },
    { label: `$(globe) ${l10n.t('Show network activity')}`, command: 'anllm.models.showNetwork' },
    separator(l10n.t('Engine')),
    { label: `$(output) ${l10n.t('Show log')}`, command: 'anllm.showLog' },
    { label: `$(debug-restart) ${l10n.t('Restart engine')}`, command: 'anllm.restartEngine' },
    serverItem(host),
    { label: `$(chrome-close) ${l10n.t('Unload model')}`, command: 'anllm.unloadModel' },
    separator(l10n.t('Help')),
    { label: `$(rocket) ${l10n.t('Get started')}`, command: 'anllm.start.open' },
  );
  return list;
}

function separator(label: string): Item {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

function serverItem({ server }: Host): Item {
  const { address } = server;
  if (address === null)
    return {
      label: `$(broadcast) ${l10n.t('Start local OpenAI server')}`,
      command: 'anllm.startServer',
    };
  return {
    label: `$(debug-disconnect) ${l10n.t('Stop local OpenAI server')}`,
    description: address.url,
    command: 'anllm.stopServer',
  };
}

function lastReason({ decisions }: Host): string {
  const outcome = decisions.all[0]?.outcome;
  return outcome?.kind === 'nothing' ? explain(outcome.reason, outcome.detail) : '';
}
