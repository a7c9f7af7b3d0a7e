/** What the input offers while one types: slash commands, and names of code behind a `#`. */
import * as l10n from '@vscode/l10n';
import { SLASH_NAMES, type SlashName } from '../extension/protocol/chat_view';
import { assertNever } from '../extension/protocol/errors';
import type { ViewState } from './state';

export interface Suggestion {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  readonly kind: 'command' | 'symbol';
  /** What the text of the input becomes. */
  readonly text: string;
}

/** The letters behind the `#` that the text ends with; null when it ends with none. */
export function symbolQuery(text: string): string | null {
  return /(?:^|\s)#([\p{L}\p{N}_$.]*)$/u.exec(text)?.[1] ?? null;
}

export function suggestions(text: string, symbols: ViewState['symbols']): readonly Suggestion[] {
  const query = symbolQuery(text);
  if (query !== null) {
    if (symbols.query !== query) return [];
    const before = text.slice(0, text.length - query.length - 1);
    return symbols.list.map(({ id, name, detail }) => ({
      id,
      label: name,
      detail,
      kind: 'symbol',
      text: `${before}\`${name}\` `,
    }));
  }
  // A command is the first word; none is offered once a blank follows it.
  const [, typed] = /^\/([a-z]*)$/.exec(text) ?? [];
  if (typed === undefined) return [];
  return SLASH_NAMES.filter((name) => name.startsWith(typed)).map((name) => ({
    id: name,
    label: `/${name}`,
    detail: description(name),
    kind: 'command',
    text: `/${name} `,
  }));
}

function description(command: SlashName): string {
  switch (command) {
    case 'explain':
      return l10n.t('Explain the attached code');
    case 'fix':
      return l10n.t('Find and fix problems in the attached code');
    case 'tests':
      return l10n.t('Write tests for the attached code');
    case 'doc':
      return l10n.t('Document the attached code');
    default:
      return assertNever(command);
  }
}
