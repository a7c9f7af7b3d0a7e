import * as vscode from 'vscode';
import type { CommandId } from '../command_ids';
import type { Host } from '../host';
import { currentEditor, fileAttachment, selectionAttachment } from './attachments';
import { useInVsCode } from '../language_model/use_in_vscode';
import { chooseModel } from './choose_model';
import { writeCommitMessage } from './commit_message';
import { resourceAttachment } from './dropped';
import { codeAround, isProblemPlace } from './problem_actions';
import { terminalAttachment } from './terminal';

type ChatCommand = Extract<CommandId, `anllm.chat.${string}`>;

export const CHAT_COMMANDS: Readonly<
  Record<ChatCommand, (host: Host, argument: unknown, all: unknown) => Promise<void>>
> = {
  'anllm.chat.open': ({ chat }) => chat.view.reveal(),
  'anllm.chat.new': async ({ chat }) => {
    chat.controller.newChat();
    await chat.view.reveal();
  },
  'anllm.chat.history': ({ chat }) => chat.view.reveal({ kind: 'showHistory' }),
  'anllm.chat.attachSelection': attachSelection,
  'anllm.chat.attachFile': attachFile,
  'anllm.chat.attachTerminalSelection': attachTerminalSelection,
  'anllm.chat.chooseModel': ({ configuration, library }) => chooseModel(configuration, library),
  'anllm.chat.useInVsCode': ({ configuration, library }) => useInVsCode(configuration, library),
  'anllm.chat.fixProblem': (host, place) => askAboutProblem(host, place, '/fix'),
  'anllm.chat.explainProblem': (host, place) => askAboutProblem(host, place, '/explain'),
  'anllm.chat.commitMessage': writeCommitMessage,
};

async function attachSelection({ chat }: Host): Promise<void> {
  const editor = currentEditor();
  const attachment = editor && selectionAttachment(editor);
  if (!attachment) {
    void vscode.window.showInformationMessage('anllm: select some code first.');
    return;
  }
  chat.controller.attach(attachment);
  await chat.view.reveal();
}

/** What the explorer or a tab names, several in the explorer, else the open file. */
async function attachFile({ chat }: Host, argument: unknown, all: unknown): Promise<void> {
  const named = (Array.isArray(all) ? all : [argument]).filter((uri) => uri instanceof vscode.Uri);
  const document = currentEditor()?.document;
  if (named.length === 0 && !document) {
    void vscode.window.showInformationMessage('anllm: open a file first.');
    return;
  }
  for (const uri of named) chat.controller.attach(await resourceAttachment(uri));
  if (named.length === 0 && document) chat.controller.attach(fileAttachment(document));
  await chat.view.reveal();
}

async function attachTerminalSelection({ chat }: Host): Promise<void> {
  const attachment = await terminalAttachment();
  if (!attachment) {
    void vscode.window.showInformationMessage('anllm: select some text in the terminal first.');
    return;
  }
  chat.controller.attach(attachment);
  await chat.view.reveal();
}

/** The light bulb gives the place; without one there is nothing to ask about. */
async function askAboutProblem({ chat }: Host, place: unknown, command: string): Promise<void> {
  if (!isProblemPlace(place)) {
    void vscode.window.showInformationMessage(
      'anllm: use the light bulb of a problem in the editor.',
    );
    return;
  }
  chat.controller.newChat();
  chat.controller.attach(await codeAround(place));
  await chat.view.reveal();
  const line = place.range.start.line + 1;
  await chat.controller.send(`${command} the problem in line ${line}: ${place.message}`);
}
