import * as l10n from '@vscode/l10n';
import type { Conversation, Turn } from '../../protocol/conversation';
import { attachmentText } from './prompt';

/** A conversation as a Markdown document. */
export function toMarkdown({ title, createdAt, turns }: Conversation): string {
  const date = new Date(createdAt).toISOString().slice(0, 16).replace('T', ' ');
  return [`# ${title}`, `${date} UTC`, ...turns.flatMap(section)].join('\n\n') + '\n';
}

function section(turn: Turn): string[] {
  if (turn.role === 'user') {
    return [`## ${l10n.t('You')}`, ...turn.attachments.map(attachmentText), closed(turn.text)];
  }
  const heading = `## ${turn.model === '' ? l10n.t('Answer') : turn.model}`;
  const thoughts = turn.reasoning === '' ? [] : [quoted(turn.reasoning)];
  const problem = turn.problem === '' ? [] : [`*${turn.problem}*`];
  return [heading, ...thoughts, closed(turn.text), ...problem].filter((part) => part !== '');
}

/** An answer that was stopped may end within code, which would go on to the end of the document. */
function closed(text: string): string {
  let open: string | null = null;
  for (const line of text.split('\n')) {
    const [, fence, rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === undefined) continue;
    if (open === null) open = fence[0] === '`' && rest.includes('`') ? null : fence;
    else if (fence.startsWith(open) && rest.trim() === '') open = null;
  }
  return open === null ? text : `${text.trimEnd()}\n${open}`;
}

function quoted(text: string): string {
  return text
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');
}
