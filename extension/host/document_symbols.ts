import * as vscode from 'vscode';

export interface DocumentSymbol {
  readonly name: string;
  readonly kind: vscode.SymbolKind;
  /** All of its code. */
  readonly range: vscode.Range;
}

/** What the language of a file knows of it, inner symbols behind their outer ones; nothing where no extension tells. */
export async function documentSymbols(uri: vscode.Uri): Promise<DocumentSymbol[]> {
  const symbols = await vscode.commands.executeCommand<
    (vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined
  >('vscode.executeDocumentSymbolProvider', uri);
  return flat(symbols ?? []);
}

function flat(
  symbols: readonly (vscode.DocumentSymbol | vscode.SymbolInformation)[],
): DocumentSymbol[] {
  return symbols.flatMap((symbol) => {
    const range = 'range' in symbol ? symbol.range : symbol.location.range;
    const inner = 'children' in symbol ? flat(symbol.children) : [];
    return [{ name: symbol.name, kind: symbol.kind, range }, ...inner];
  });
}
