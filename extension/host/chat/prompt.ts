/** What the model is told: instructions, attachments as fenced text, slash commands in words. */
import type { ChatMessage } from '../../protocol/chat';
import { SLASH_NAMES, type SlashName } from '../../protocol/chat_view';
import type {
  Attachment,
  AttachmentKind,
  Conversation,
  UserTurn,
} from '../../protocol/conversation';

const INSTRUCTIONS =
  'You are a programming assistant inside VS Code. Answer briefly and precisely, in Markdown. ' +
  'Put code into fenced blocks with their language. When you change code that was given to you, ' +
  'show the changed code whole, without placeholders.';

const SLASH_INSTRUCTIONS: Readonly<Record<SlashName, string>> = {
  explain: 'Explain what this code does and how, for a programmer who is new to it.',
  fix: 'Find the bugs in this code. Say in a sentence what is wrong, then show the fixed code.',
  tests:
    'Write unit tests for this code, with the test framework that fits its language. Cover edge cases.',
  doc: 'Write documentation comments for this code and show it whole with them.',
};

/** A message that begins with a known command, and what is typed after it. */
export function parseSlash(text: string): { command: SlashName | null; rest: string } {
  const [, name, rest = ''] = /^\/([a-z]+)(?:\s+|$)([^]*)/.exec(text.trimStart()) ?? [];
  const command = SLASH_NAMES.find((known) => known === name) ?? null;
  return command ? { command, rest } : { command: null, rest: text };
}

/** The messages for the model: questions with their attachments, answers that came to something. */
export function promptOf({ turns }: Pick<Conversation, 'turns'>): ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'system', content: INSTRUCTIONS }];
  for (const turn of turns) {
    if (turn.role === 'user') {
      messages.push({ role: 'user', content: questionText(turn) });
    } else if (turn.text !== '') {
      const { text, reasoning } = turn;
      messages.push({ role: 'assistant', content: text, reasoning, toolCalls: [] });
    }
  }
  return messages;
}

function questionText({ text, attachments }: UserTurn): string {
  const { command, rest } = parseSlash(text);
  const instruction = command === null ? '' : SLASH_INSTRUCTIONS[command];
  const words = [instruction, rest.trim()].filter((part) => part !== '');
  return [...attachments.map(attachmentText), words.join('\n')].join('\n\n');
}

export function attachmentText({ kind, path, languageId, lines, text }: Attachment): string {
  const place = lines === null ? path : `${path}, lines ${lines[0]} to ${lines[1]}`;
  return `${TITLES[kind]}: ${place}\n${fenced(text, languageId)}`;
}

const TITLES: Readonly<Record<AttachmentKind, string>> = {
  selection: 'Selection',
  file: 'File',
  folder: 'Folder',
  symbol: 'Code',
  problem: 'Problem',
  terminal: 'Terminal',
  diff: 'Changes',
};

/** A text in a fence that does not occur in it. */
export function fenced(text: string, languageId: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${languageId}\n${text.replace(/\n$/, '')}\n${fence}`;
}
