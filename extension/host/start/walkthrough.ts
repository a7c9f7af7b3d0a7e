import * as vscode from 'vscode';
import { sample } from './sample';

/** Of package.json: publisher.name#id. */
const WALKTHROUGH = 'anllm.anllm#start';
const OPENED_KEY = 'anllm.walkthrough.opened';
const CURSOR = '█';

export async function openWalkthrough(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openWalkthrough', WALKTHROUGH, false);
}

/** Opens it in the first window after the installation, unless the user wants none of these. */
export async function openWalkthroughOnce(state: vscode.Memento): Promise<void> {
  if (state.get(OPENED_KEY) === true) return;
  await state.update(OPENED_KEY, true);
  const wanted = vscode.workspace
    .getConfiguration('workbench.welcomePage.walkthroughs')
    .get<boolean>('openOnInstall');
  if (wanted !== false) await openWalkthrough();
}

/** Opens a file that is nowhere on the disk, and asks for a completion in it. */
export async function tryCompletion(): Promise<void> {
  const text = sample();
  const document = await vscode.workspace.openTextDocument({
    language: 'typescript',
    content: text.replace(CURSOR, ''),
  });
  const editor = await vscode.window.showTextDocument(document);
  const position = document.positionAt(text.indexOf(CURSOR));
  editor.selection = new vscode.Selection(position, position);
  await vscode.commands.executeCommand('anllm.trigger');
}

/** Told when a suggestion was taken, which ticks a step. */
export function completionAccepted(): void {
  void vscode.commands.executeCommand('setContext', 'anllm.completionAccepted', true);
}
