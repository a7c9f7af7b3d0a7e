import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import type { CommandId } from '../command_ids';
import type { Host } from '../host';
import { codeAround, currentEditor, fileAttachment, selectionAttachment } from './attachments';
import { useInVsCode } from '../language_model/use_in_vscode';
import { chooseModel } from './choose_model';
import { writeCommitMessage } from './commit_message';
import { attachAll } from './dropped';
import { isProblemPlace } from './problem_actions';
import { terminalAttachment } from './terminal';

type ChatCommand = Extract<CommandId, `anllm.chat.${string}`>;

export const CHAT_COMMANDS: Readonly<
  Record<ChatCommand, (host: Host, argument: unknown, all: unknown) => Promise<void>>
> = {
  'anllm.chat.open': async ({ chat }) => (await chat.get()).view.reveal(),
  'anllm.chat.new': async ({ chat }) => {
    const { controller, view } = await chat.get();
    controller.newChat();
    await view.reveal();
  },
  'anllm.chat.history': async ({ chat }) => (await chat.get()).view.reveal({ kind: 'showHistory' }),
  'anllm.chat.attachSelection': attachSelection,
  'anllm.chat.attachFile': attachFile,
  'anllm.chat.attachTerminalSelection': attachTerminalSelection,
  'anllm.chat.chooseModel': chooseModel,
  'anllm.chat.useInVsCode': useInVsCode,
  'anllm.chat.fixProblem': (host, place) => askAboutProblem(host, place, '/fix'),
  'anllm.chat.explainProblem': (host, place) => askAboutProblem(host, place, '/explain'),
  'anllm.chat.commitMessage': writeCommitMessage,
};

async function attachSelection({ chat }: Host): Promise<void> {
  const editor = currentEditor();
  const attachment = editor && selectionAttachment(editor);
  if (!attachment) {
    void vscode.window.showInformationMessage(l10n.t('anllm: select some code first.'));
    return;
  }
  const { controller, view } = await chat.get();
  controller.attach(attachment);
  await view.reveal();
}

/** What the explorer or a tab names, several in the explorer, else the open file. */
async function attachFile({ chat }: Host, argument: unknown, all: unknown): Promise<void> {
  const named = (Array.isArray(all) ? all : [argument]).filter((uri) => uri instanceof vscode.Uri);
  const document = currentEditor()?.document;
  if (named.length === 0 && !document) {
    void vscode.window.showInformationMessage(l10n.t('anllm: open a file first.'));
    return;
  }
  const { controller, view } = await chat.get();
  await view.reveal();
  await attachAll(named, controller);
  if (named.length === 0 && document) controller.attach(fileAttachment(document));
}

async function attachTerminalSelection({ chat }: Host): Promise<void> {
  const attachment = await terminalAttachment();
  if (!attachment) {
    void vscode.window.showInformationMessage(
      l10n.t('anllm: select some text in the terminal first.'),
    );
    return;
  }
  const { controller, view } = await chat.get();
  controller.attach(attachment);
  await view.reveal();
}

/** The light bulb gives the place; without one there is nothing to ask about. */
async function askAboutProblem({ chat }: Host, place: unknown, command: string): Promise<void> {
  if (!isProblemPlace(place)) {
    void vscode.window.showInformationMessage(
      l10n.t('anllm: use the light bulb of a problem in the editor.'),
    );
    return;
  }
  const { controller, view } = await chat.get();
  controller.newChat();
  controller.attach(await codeAround(place));
  await view.reveal();
  const line = place.range.start.line + 1;
  await controller.send(`${command} the problem in line ${line}: ${place.message}`);
}
