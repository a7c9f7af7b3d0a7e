import * as vscode from 'vscode';

/** Shows two texts as a diff, in the tab of the last one, with a line of the right side in view. `line`: one-based. */
export async function showDiff(
  left: vscode.Uri,
  right: vscode.Uri,
  title: string,
  line: number,
): Promise<void> {
  const selection = new vscode.Range(line - 1, 0, line - 1, 0);
  await vscode.commands.executeCommand('vscode.diff', left, right, title, {
    preview: true,
    selection,
  });
}

/** Closes the diffs that show `side` and goes back to the file, when it is given and still there. */
export async function closeDiff(
  side: vscode.Uri,
  document: vscode.TextDocument | null,
): Promise<void> {
  const [shown] = diffsOf(side);
  if (!shown) return;
  if (document && !document.isClosed) {
    await vscode.window.showTextDocument(document, { viewColumn: shown.group.viewColumn });
  }
  // Showing the file may have taken the diff's tab, or given it another one.
  await vscode.window.tabGroups.close(diffsOf(side));
}

/** The tabs with a diff that has this text on one of its sides. */
export function diffsOf(side: vscode.Uri): vscode.Tab[] {
  const address = side.toString();
  const tabs = vscode.window.tabGroups.all.flatMap(({ tabs: all }) => all);
  return tabs.filter(
    ({ input }) =>
      input instanceof vscode.TabInputTextDiff &&
      [input.original.toString(), input.modified.toString()].includes(address),
  );
}
