import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { ACCEPTED_COMMAND } from '../command_ids';
import type { Host } from '../host';
import type { Disposable } from '../lifecycle';
import { languageEnabled } from '../settings';
import { editorOf, takeSnapshot } from './document';
import { holdsSecrets } from './secret_file';
import type { Suggestion } from './service';
import type { SelectedItem } from './snapshot';
import { SCHEMES, whySkip } from './trigger';

/** Ghost text: translates between the editor's provider interface and the completion service, and does no more. */
export function registerProvider(host: Host): Disposable {
  const selector = SCHEMES.map((scheme) => ({ scheme }));
  return vscode.languages.registerInlineCompletionItemProvider(selector, {
    provideInlineCompletionItems: (document, position, context, token) =>
      provide(host, document, position, context, token),
  });
}

async function provide(
  host: Host,
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
  token: vscode.CancellationToken,
): Promise<vscode.InlineCompletionItem[]> {
  const asked = performance.now();
  const invoked = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
  const selected = selectedItem(context, position);
  const settings = host.configuration.current;
  const editor = editorOf(document);
  const skip = whySkip({
    enabled: settings.enabled,
    languageEnabled: languageEnabled(settings, document.languageId),
    snoozed: host.snooze.active,
    scheme: document.uri.scheme,
    leaksSecrets: settings.engine.remote !== null && holdsSecrets(document.uri.path),
    invoked,
    cursors: editor?.selections.length ?? 1,
    hasSelection: editor?.selection.isEmpty === false,
    lineAfter: document.lineAt(position.line).text.slice(position.character),
    popup: selected !== null,
  });
  if (skip) {
    host.decisions.add({
      at: Date.now(),
      path: vscode.workspace.asRelativePath(document.uri, false),
      line: position.line + 1,
      column: position.character + 1,
      invoked,
      outcome: { kind: 'nothing', reason: skip },
      elapsedMs: performance.now() - asked,
      waitedMs: 0,
      result: null,
    });
    return [];
  }
  const snapshot = takeSnapshot(document, position, selected);
  const suggestion = await host.completions.suggest(snapshot, invoked, signalOf(token));
  if (!suggestion || token.isCancellationRequested) return [];
  return [itemOf(suggestion, position, selected)];
}

/** Null when nothing is selected, or when what is selected is not on the cursor's line. */
function selectedItem(
  { selectedCompletionInfo: info }: vscode.InlineCompletionContext,
  position: vscode.Position,
): SelectedItem | null {
  if (!info?.range.isSingleLine || info.range.start.line !== position.line) return null;
  return { start: info.range.start.character, end: info.range.end.character, text: info.text };
}

/** With a selected item the text must begin with it and replace the same range, or the editor shows nothing. */
function itemOf(
  { offer, id }: Suggestion,
  position: vscode.Position,
  selected: SelectedItem | null,
): vscode.InlineCompletionItem {
  const start = position.with({ character: selected?.start ?? position.character });
  const end = position.with({
    character: (selected?.end ?? position.character) + offer.replaceAfter,
  });
  const text = (selected?.text ?? '') + offer.text;
  const item = new vscode.InlineCompletionItem(text, new vscode.Range(start, end));
  item.command = { command: ACCEPTED_COMMAND, title: l10n.t('Accepted'), arguments: [id] };
  return item;
}

function signalOf(token: vscode.CancellationToken): AbortSignal {
  const controller = new AbortController();
  if (token.isCancellationRequested) controller.abort();
  else token.onCancellationRequested(() => controller.abort());
  return controller.signal;
}
