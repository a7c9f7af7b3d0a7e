import * as l10n from '@vscode/l10n';
import { modify } from 'jsonc-parser';
import * as vscode from 'vscode';

/**
 * Writes a setting that VS Code keeps out of its list, and so out of reach of its API, into the file of the user's
 * settings, through an editor, which keeps comments and formatting. Throws an Error that says what to do by hand.
 */
export async function writeToSettingsFile(key: string, value: unknown): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openSettingsJson');
  const editor = vscode.window.activeTextEditor;
  const entry = `"${key}": ${JSON.stringify(value)}`;
  if (!editor?.document.uri.path.endsWith('/settings.json')) {
    throw new Error(
      l10n.t(
        'the file of your settings did not open: put {entry} into your settings.json yourself.',
        { entry },
      ),
    );
  }
  const { document } = editor;
  const changes = modify(document.getText(), [key], value, {
    formattingOptions: { insertSpaces: true, tabSize: 2 },
  });
  const isWritten = await editor.edit((builder) => {
    for (const { offset, length, content } of changes) {
      const [start, end] = [document.positionAt(offset), document.positionAt(offset + length)];
      builder.replace(new vscode.Range(start, end), content);
    }
  });
  // Where the settings lie on another machine than this process, the document cannot be saved through its own address.
  await vscode.commands.executeCommand('workbench.action.files.save');
  if (!isWritten || document.isDirty) {
    throw new Error(
      l10n.t(
        'the file of your settings could not be changed: put {entry} into your settings.json yourself.',
        { entry },
      ),
    );
  }
  await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
}
