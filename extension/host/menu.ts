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
      ? { label: '$(circle-slash) Disable completions', command: 'anllm.disable' }
      : { label: '$(check) Enable completions', command: 'anllm.enable' },
  ];
  const languageId = vscode.window.activeTextEditor?.document.languageId;
  if (languageId !== undefined) {
    const verb = languageEnabled(configuration.current, languageId) ? 'Disable' : 'Enable';
    list.push({
      label: `$(code) ${verb} completions for ${languageId}`,
      command: 'anllm.toggleLanguage',
    });
  }
  list.push(separator('Snooze'));
  if (snooze.active) {
    const description = `${snooze.minutesLeft} min left`;
    list.push({ label: '$(bell) End snooze', description, command: 'anllm.snooze', argument: 0 });
  }
  for (const minutes of [5, 15, 60]) {
    list.push({
      label: `$(bell-slash) Snooze for ${minutes} minutes`,
      command: 'anllm.snooze',
      argument: minutes,
    });
  }
  list.push(
    separator('This place'),
    { label: '$(sparkle) Trigger completion', command: 'anllm.trigger' },
    {
      label: '$(question) Why no suggestion?',
      description: lastReason(host),
      command: 'anllm.whyNoSuggestion',
    },
    separator('Chat'),
    { label: '$(comment-discussion) Open chat', command: 'anllm.chat.open' },
    { label: '$(edit) Edit code here', command: 'anllm.edit.start' },
    {
      label: '$(symbol-misc) Choose chat model',
      description: configuration.current.engine.chatModelDir,
      command: 'anllm.chat.chooseModel',
    },
    separator('Models'),
    { label: '$(cloud-download) Download model', command: 'anllm.models.download' },
    { label: '$(globe) Show network activity', command: 'anllm.models.showNetwork' },
    separator('Engine'),
    { label: '$(output) Show log', command: 'anllm.showLog' },
    { label: '$(debug-restart) Restart engine', command: 'anllm.restartEngine' },
    serverItem(host),
    { label: '$(chrome-close) Unload model', command: 'anllm.unloadModel' },
    separator('Help'),
    { label: '$(rocket) Get started', command: 'anllm.start.open' },
  );
  return list;
}

function separator(label: string): Item {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

function serverItem({ server }: Host): Item {
  const { address } = server;
  if (address === null)
    return { label: '$(broadcast) Start local OpenAI server', command: 'anllm.startServer' };
  return {
    label: '$(debug-disconnect) Stop local OpenAI server',
    description: address.url,
    command: 'anllm.stopServer',
  };
}

function lastReason({ decisions }: Host): string {
  const outcome = decisions.all[0]?.outcome;
  return outcome?.kind === 'nothing' ? explain(outcome.reason, outcome.detail) : '';
}
