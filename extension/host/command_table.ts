/** What each command does. Loaded with the first command that is run. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { number } from '../protocol/numbers';
import { CHAT_COMMANDS } from './chat/commands';
import type { CommandId } from './command_ids';
import { explain } from './completion/decisions';
import { suggestNames } from './edit/suggest_names';
import type { Host } from './host';
import { showMenu } from './menu';
import { MODEL_COMMANDS } from './models/commands';
import { copyEndpoint, copyToken, startServer } from './openai/commands';
import { reportProblem } from './report_command';
import { languageEnabled } from './settings';
import { openWalkthrough, tryCompletion } from './start/walkthrough';
import { showWhy } from './why_document';

const SNOOZE_MINUTES = [5, 15, 60] as const;
const TRIGGER = 'editor.action.inlineSuggest.trigger';

/** `all`: what else the explorer has selected. */
type Command = (host: Host, argument: unknown, all: unknown) => Promise<void>;

export const COMMANDS: Readonly<Record<CommandId, Command>> = {
  'anllm.enable': enable,
  'anllm.disable': ({ configuration }) => configuration.setEnabled(false),
  'anllm.toggleLanguage': toggleLanguage,
  'anllm.trigger': trigger,
  'anllm.snooze': snooze,
  'anllm.whyNoSuggestion': () => showWhy(),
  'anllm.showLog': async ({ log }) => log.show(),
  'anllm.reportProblem': reportProblem,
  'anllm.restartEngine': restartEngine,
  'anllm.unloadModel': ({ engine }) => engine.unload(),
  'anllm.clearCache': clearCache,
  'anllm.setRemoteKey': ({ remoteKey }) => remoteKey.ask(),
  'anllm.startServer': startServer,
  'anllm.stopServer': ({ server }) => server.stop(),
  'anllm.copyServerEndpoint': copyEndpoint,
  'anllm.copyServerToken': copyToken,
  'anllm.showMenu': (host) => showMenu(host),
  'anllm.edit.suggestNames': suggestNames,
  'anllm.edit.start': async ({ inlineEdit }) => (await inlineEdit.get()).start(),
  'anllm.edit.keep': async ({ inlineEdit }) => (await inlineEdit.get()).keep(),
  'anllm.edit.discard': async ({ inlineEdit }) => (await inlineEdit.get()).discard(),
  'anllm.edit.discardPart': async ({ inlineEdit }) => (await inlineEdit.get()).discardPart(),
  'anllm.start.open': () => openWalkthrough(),
  'anllm.start.tryCompletion': () => tryCompletion(),
  ...CHAT_COMMANDS,
  ...MODEL_COMMANDS,
};

async function clearCache({ engine }: Host): Promise<void> {
  const { files, bytes } = await engine.clearCache();
  const size = number(bytes / 2 ** 20);
  void vscode.window.showInformationMessage(
    files === 0
      ? l10n.t('anllm: the cache is empty.')
      : l10n.t('anllm: removed {size} MB of packed weights and kept conversations.', { size }),
  );
}

async function enable({ configuration, snooze }: Host): Promise<void> {
  snooze.end();
  await configuration.setEnabled(true);
}

async function toggleLanguage({ configuration }: Host): Promise<void> {
  const languageId = vscode.window.activeTextEditor?.document.languageId;
  if (languageId === undefined) {
    void vscode.window.showInformationMessage(l10n.t('anllm: open a file of the language first.'));
    return;
  }
  await configuration.setLanguage(languageId, !languageEnabled(configuration.current, languageId));
}

async function trigger({ configuration, snooze }: Host): Promise<void> {
  if (!configuration.current.enabled || snooze.active) {
    const choice = await vscode.window.showInformationMessage(
      snooze.active
        ? l10n.t('anllm: completions are snoozed.')
        : l10n.t('anllm: completions are disabled.'),
      l10n.t('Enable'),
    );
    if (choice === undefined) return;
    snooze.end();
    await configuration.setEnabled(true);
  }
  const languageId = vscode.window.activeTextEditor?.document.languageId ?? '*';
  if (!languageEnabled(configuration.current, languageId)) {
    void vscode.window.showInformationMessage(`anllm: ${explain('language_disabled')}`);
    return;
  }
  await vscode.commands.executeCommand(TRIGGER);
}

/** Takes the minutes as its argument, or asks; 0 ends a snooze. */
async function snooze({ snooze: state }: Host, argument: unknown): Promise<void> {
  const minutes = typeof argument === 'number' ? argument : await askMinutes(state.active);
  if (minutes === undefined) return;
  if (minutes > 0) state.start(minutes);
  else state.end();
}

async function askMinutes(active: boolean): Promise<number | undefined> {
  const end = { label: l10n.t('End snooze'), minutes: 0 };
  const times = SNOOZE_MINUTES.map((minutes) => {
    return { label: l10n.t('For {minutes} minutes', { minutes }), minutes };
  });
  const choice = await vscode.window.showQuickPick(active ? [end, ...times] : times, {
    title: l10n.t('Snooze completions'),
  });
  return choice?.minutes;
}

async function restartEngine({ engine, completions, configuration }: Host): Promise<void> {
  await engine.stop();
  completions.reset();
  if (configuration.current.enabled) await engine.load();
}
