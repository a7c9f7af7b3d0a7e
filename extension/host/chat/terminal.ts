import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { Attachment } from '../../protocol/conversation';

/** A terminal may keep any number of lines; the last ones tell how it ended. */
const MAX_CHARS = 2 ** 20;

/**
 * What is selected in the terminal; null when nothing is. VS Code gives the selection to no extension but copies it, so
 * the clipboard is used for a moment and then put back.
 */
export async function terminalAttachment(): Promise<Attachment | null> {
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  // A mark that no terminal shows tells a selection from none.
  const mark = `anllm ${randomUUID()}`;
  await clipboard.writeText(mark);
  try {
    await vscode.commands.executeCommand('workbench.action.terminal.copySelection');
    const text = await clipboard.readText();
    if (text === mark || text.trim() === '') return null;
    return {
      id: randomUUID(),
      kind: 'terminal',
      path: vscode.window.activeTerminal?.name ?? 'terminal',
      languageId: 'text',
      lines: null,
      text: text.slice(-MAX_CHARS).replaceAll('\r\n', '\n'),
    };
  } finally {
    await clipboard.writeText(before);
  }
}
