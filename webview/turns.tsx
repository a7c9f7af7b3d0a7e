import * as l10n from '@vscode/l10n';
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  AssistantTurn,
  Attachment,
  AttachmentKind,
  UserTurn,
} from '../extension/protocol/conversation';
import { seconds, statsLine } from './figures';
import { post } from './host';
import { MarkdownView } from './markdown_view';
import { Icon, IconButton } from './parts';

export const Question = memo(function Question({ turn, busy }: { turn: UserTurn; busy: boolean }) {
  const [editing, setEditing] = useState(false);
  if (editing) return <QuestionEditor turn={turn} busy={busy} close={() => setEditing(false)} />;
  return (
    <article class="turn question" aria-label={l10n.t('You')}>
      <header>
        <h2>{l10n.t('You')}</h2>
        {!busy && (
          <IconButton
            icon="edit"
            label={l10n.t('Edit and ask again')}
            onClick={() => setEditing(true)}
          />
        )}
      </header>
      <Attachments attachments={turn.attachments} />
      <p class="plain" dir="auto">
        {turn.text}
      </p>
    </article>
  );
});

interface QuestionEditorProps {
  readonly turn: UserTurn;
  /** An answer is written: what is edited waits for its end. */
  readonly busy: boolean;
  readonly close: () => void;
}

function QuestionEditor({ turn, busy, close }: QuestionEditorProps) {
  const [text, setText] = useState(turn.text);
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const isEmpty = text.trim() === '' && turn.attachments.length === 0;
  const send = (): void => {
    if (busy || isEmpty) return;
    post({ kind: 'edit', turn: turn.id, text });
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === 'Escape') close();
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  return (
    <article class="turn question" aria-label={l10n.t('You, editing')}>
      <textarea
        dir="auto"
        aria-label={l10n.t('Your question')}
        value={text}
        rows={Math.min(12, text.split('\n').length + 1)}
        ref={input}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <p class="hint">{l10n.t('What follows this question is replaced.')}</p>
      <div class="buttons">
        <button type="button" onClick={send} disabled={busy || isEmpty}>
          {l10n.t('Ask again')}
        </button>
        <button type="button" class="secondary" onClick={close}>
          {l10n.t('Cancel')}
        </button>
      </div>
    </article>
  );
}

interface AnswerProps {
  readonly turn: AssistantTurn;
  readonly busy: boolean;
  /** Another one in its place takes nothing with it. */
  readonly isLast: boolean;
}

export const Answer = memo(function Answer({ turn, busy, isLast }: AnswerProps) {
  const writing = turn.state === 'waiting' || turn.state === 'streaming';
  return (
    <article class="turn answer" aria-label={l10n.t('Answer')} aria-busy={writing}>
      <header>
        <h2>{turn.model === '' ? 'anllm' : turn.model}</h2>
        {!busy && !writing && turn.state !== 'failed' && (
          <span class="actions">
            <IconButton
              icon="git-branch"
              label={l10n.t('Go on from here in a new chat')}
              onClick={() => post({ kind: 'branch', turn: turn.id })}
            />
            {isLast && (
              <IconButton
                icon="refresh"
                label={l10n.t('Try again')}
                onClick={() => post({ kind: 'retry', turn: turn.id })}
              />
            )}
          </span>
        )}
      </header>
      <Thoughts turn={turn} writing={writing} />
      <MarkdownView text={turn.text} open={writing} />
      {turn.state === 'waiting' && (
        <p class="waiting">
          <Icon name="loading" /> {l10n.t('Reading…')}
        </p>
      )}
      <Outcome turn={turn} canRetry={isLast && !busy} />
    </article>
  );
});

function Thoughts({ turn, writing }: { turn: AssistantTurn; writing: boolean }) {
  if (turn.reasoning === '') return null;
  const thinking = writing && turn.reasoningMs === null;
  return (
    <details class="thoughts">
      <summary>
        <Icon name="chevron-right" /> {thoughtsTitle(turn.reasoningMs, thinking)}
      </summary>
      <MarkdownView text={turn.reasoning} open={thinking} />
    </details>
  );
}

function thoughtsTitle(reasoningMs: number | null, thinking: boolean): string {
  if (reasoningMs !== null && reasoningMs < 1000) return l10n.t('Thought for a moment');
  if (reasoningMs !== null) return l10n.t('Thought for {time}', { time: seconds(reasoningMs) });
  return thinking ? l10n.t('Thinking…') : l10n.t('Thoughts');
}

function Outcome({ turn, canRetry }: { turn: AssistantTurn; canRetry: boolean }) {
  const failed = turn.state === 'failed';
  const stopped = turn.state === 'stopped' ? [l10n.t('Stopped')] : [];
  const figures = turn.stats === null ? [] : [statsLine(turn.stats)];
  const footer = [...stopped, ...figures].join(' · ');
  return (
    <>
      {turn.problem !== '' && (
        <p class={failed ? 'problem error' : 'problem'}>
          <Icon name={failed ? 'error' : 'info'} />
          <span>{turn.problem}</span>
        </p>
      )}
      {failed && (
        <div class="buttons">
          {canRetry && (
            <button
              type="button"
              class="secondary"
              onClick={() => post({ kind: 'retry', turn: turn.id })}
            >
              {l10n.t('Try again')}
            </button>
          )}
          <button type="button" class="secondary" onClick={() => post({ kind: 'showLog' })}>
            {l10n.t('Show log')}
          </button>
        </div>
      )}
      {footer !== '' && <footer>{footer}</footer>}
    </>
  );
}

interface AttachmentsProps {
  readonly attachments: readonly Attachment[];
  readonly onRemove?: (id: string) => void;
}

export function Attachments({ attachments, onRemove }: AttachmentsProps) {
  if (attachments.length === 0) return null;
  return (
    <ul class="attachments" aria-label={l10n.t('Attached')}>
      {attachments.map((attachment) => (
        <li key={attachment.id} title={attachment.path}>
          <Icon name={ICONS[attachment.kind]} />
          <span class="name">{labelOf(attachment)}</span>
          {onRemove && (
            <IconButton
              icon="close"
              label={l10n.t('Remove {name}', { name: labelOf(attachment) })}
              onClick={() => onRemove(attachment.id)}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

const ICONS: Readonly<Record<AttachmentKind, string>> = {
  selection: 'selection',
  file: 'file',
  folder: 'folder',
  symbol: 'symbol-method',
  problem: 'warning',
  terminal: 'terminal',
  diff: 'diff',
};

function labelOf({ path, lines }: Attachment): string {
  const name = path.split('/').at(-1) ?? path;
  return lines === null ? name : `${name}:${lines[0]}-${lines[1]}`;
}
