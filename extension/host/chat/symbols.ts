/** Names of the workspace's code, for `#` in the chat input. */
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { SymbolEntry } from '../../protocol/chat_view';
import type { Attachment } from '../../protocol/conversation';
import { documentSymbols } from '../document_symbols';
import { currentEditor, rangeAttachment } from './attachments';

/** As many as a person reads. */
const MAX_SHOWN = 12;

interface Found {
  readonly name: string;
  readonly uri: vscode.Uri;
  readonly range: vscode.Range;
}

/** Finds symbols, and remembers the last list for the one that is chosen. */
export class SymbolFinder {
  private found = new Map<string, Found>();
  private latest = 0;

  /**
   * Those of the open file first, then the workspace's, as far as language extensions know them. Null when another
   * search has begun meanwhile.
   */
  async find(query: string): Promise<SymbolEntry[] | null> {
    const number = ++this.latest;
    const uri = currentEditor()?.document.uri;
    const [near, far] = await Promise.all([
      uri ? inFile(uri) : [],
      // Language servers list thousands of names for no letters at all.
      query === '' ? [] : inWorkspace(query),
    ]);
    if (number !== this.latest) return null;
    const fits = near.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
    const all = [...fits, ...far.filter((other) => !fits.some((one) => isSame(one, other)))];
    this.found = new Map(all.slice(0, MAX_SHOWN).map((symbol) => [randomUUID(), symbol]));
    return [...this.found].map(([id, { name, uri: file, range }]) => ({
      id,
      name,
      detail: `${vscode.workspace.asRelativePath(file, false)}:${range.start.line + 1}`,
    }));
  }

  /** The code of a symbol of the last list; null when there is none with this id. */
  async attachment(id: string): Promise<Attachment | null> {
    const symbol = this.found.get(id);
    if (!symbol) return null;
    const document = await vscode.workspace.openTextDocument(symbol.uri);
    // The workspace's list has the place of a name only; the file's has that of all its code.
    const whole = (await inFile(symbol.uri)).find(
      ({ name, range }) => name === symbol.name && range.contains(symbol.range.start),
    );
    const { start, end } = whole?.range ?? symbol.range;
    const lines = new vscode.Range(start.line, 0, end.line, document.lineAt(end.line).text.length);
    return { ...rangeAttachment(document, lines), kind: 'symbol' };
  }
}

async function inWorkspace(query: string): Promise<Found[]> {
  const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    'vscode.executeWorkspaceSymbolProvider',
    query,
  );
  return (symbols ?? []).map(({ name, location }) => ({
    name: nameOf(name),
    uri: location.uri,
    range: location.range,
  }));
}

async function inFile(uri: vscode.Uri): Promise<Found[]> {
  const symbols = await documentSymbols(uri);
  return symbols.map(({ name, range }) => ({ name: nameOf(name), uri, range }));
}

/** Some servers add the parameters. */
const nameOf = (name: string): string => name.replace(/\(.*$/, '');

function isSame(a: Found, b: Found): boolean {
  return (
    a.name === b.name && a.uri.toString() === b.uri.toString() && a.range.contains(b.range.start)
  );
}
