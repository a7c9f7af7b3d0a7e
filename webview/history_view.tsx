import * as l10n from '@vscode/l10n';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { HistoryEntry } from '../extension/protocol/conversation';
import { ago } from './figures';
import { post } from './host';
import { IconButton } from './parts';

interface HistoryViewProps {
  readonly entries: readonly HistoryEntry[];
  readonly close: () => void;
}

export function HistoryView({ entries, close }: HistoryViewProps) {
  const [query, setQuery] = useState('');
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => search.current?.focus(), []);
  useEffect(() => post({ kind: 'search', query }), [query]);
  return (
    <main
      class="history"
      aria-label={l10n.t('Earlier chats')}
      onKeyDown={(event) => event.key === 'Escape' && !event.isComposing && close()}
    >
      <h1 class="sr-only">{l10n.t('Earlier chats')}</h1>
      <header>
        <input
          ref={search}
          type="search"
          placeholder={l10n.t('Search earlier chats')}
          aria-label={l10n.t('Search earlier chats')}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <IconButton icon="close" label={l10n.t('Back to the chat')} onClick={close} />
      </header>
      {entries.length === 0 ? (
        <p class="hint">
          {query === '' ? l10n.t('No earlier chats.') : l10n.t('No chat has these words.')}
        </p>
      ) : (
        <ul>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} close={close} />
          ))}
        </ul>
      )}
    </main>
  );
}

interface EntryProps {
  readonly entry: HistoryEntry;
  readonly close: () => void;
}

function Entry({ entry: { id, title, updatedAt }, close }: EntryProps) {
  const [renaming, setRenaming] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const entry = useRef<HTMLButtonElement>(null);
  /** A key ended the renaming: the entry takes the focus. After a click it is where that was. */
  const keepsFocus = useRef(false);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
    if (keepsFocus.current) entry.current?.focus();
    keepsFocus.current = false;
  }, [renaming]);
  /** An input that goes while it has the focus loses it too: only the first end counts. */
  const isOpen = useRef(false);
  const end = (value: string): void => {
    if (!isOpen.current) return;
    isOpen.current = false;
    setRenaming(false);
    if (value.trim() !== '' && value !== title) post({ kind: 'rename', id, title: value });
  };
  const begin = (): void => {
    isOpen.current = true;
    setRenaming(true);
  };
  const open = (): void => {
    post({ kind: 'open', id });
    close();
  };
  if (renaming) {
    return (
      <li>
        <input
          aria-label={l10n.t('Title')}
          defaultValue={title}
          ref={input}
          onBlur={(event) => end(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            keepsFocus.current = event.key === 'Enter' || event.key === 'Escape';
            if (event.key === 'Enter') end(event.currentTarget.value);
            if (event.key !== 'Escape') return;
            event.stopPropagation();
            end(title);
          }}
        />
      </li>
    );
  }
  return (
    <li>
      <button type="button" class="entry" ref={entry} onClick={open}>
        <span class="title">{title}</span>
        <span class="when">{ago(updatedAt, Date.now())}</span>
      </button>
      <span class="actions">
        <IconButton icon="edit" label={l10n.t('Rename {title}', { title })} onClick={begin} />
        <IconButton
          icon="export"
          label={l10n.t('Export {title} as Markdown', { title })}
          onClick={() => post({ kind: 'export', id })}
        />
        <IconButton
          icon="trash"
          label={l10n.t('Delete {title}', { title })}
          onClick={() => post({ kind: 'remove', id })}
        />
      </span>
    </li>
  );
}
