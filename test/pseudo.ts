/** A made-up language in which every text stands in ⟦brackets⟧: what has none was not translated. */
import { readFileSync } from 'node:fs';
import { bundleFile } from '../scripts/texts.mjs';

type Message = string | { readonly message: string };

/** In the format of `vscode.l10n.bundle`. */
export function pseudoTexts(): Record<string, string> {
  return bracketed(JSON.parse(readFileSync(bundleFile, 'utf8')) as Record<string, Message>);
}

export function bracketed(texts: Readonly<Record<string, Message>>): Record<string, string> {
  const all = Object.entries(texts).map(([key, text]) => {
    return [key, `⟦${typeof text === 'string' ? text : text.message}⟧`] as const;
  });
  return Object.fromEntries(all);
}

/** What of `text` stands in no brackets. A translated text may be in another one, as its argument. */
export function withoutTranslated(text: string): string {
  const less = text.replace(/⟦[^⟦⟧]*⟧/g, '');
  return less === text ? text : withoutTranslated(less);
}
