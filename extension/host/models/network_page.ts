import * as l10n from '@vscode/l10n';
import type { NetworkEntry } from './network_log';
import { showBytes } from './sizes';

export interface NetworkFacts {
  /** Oldest first. */
  readonly entries: readonly NetworkEntry[];
  readonly hubUrl: string;
  /** `anllm.remote.url`, or null. */
  readonly remoteUrl: string | null;
  /** Of the OpenAI-compatible server of this window, or null. */
  readonly serverUrl: string | null;
}

/** A page in Markdown that says what was ever sent where. */
export function renderNetwork({ entries, hubUrl, remoteUrl, serverUrl }: NetworkFacts): string {
  return [
    `# ${l10n.t('Network activity of anllm')}`,
    '',
    remoteUrl === null
      ? l10n.t('**What you type, open or ask** is sent nowhere: models run on this computer.')
      : l10n.t(
          '**What you type, open or ask** is sent to {url}, because `anllm.remote.url` names it. Empty that setting to keep it on this computer.',
          { url: code(remoteUrl) },
        ),
    '',
    l10n.t('**Telemetry**: none. No usage data, no crash reports, no update checks.'),
    '',
    l10n.t(
      '**Models** come from {url} (`anllm.models.hubUrl`), only when you search or download. Sent are the words of a search or the name of a model, and the token of the hub when you set one.',
      { url: code(hubUrl) },
    ),
    '',
    serverUrl === null
      ? l10n.t('**Server**: off; nothing listens on this computer.')
      : l10n.t('**Server**: listens on {url} for programs of this computer that have its token.', {
          url: code(serverUrl),
        }),
    '',
    `## ${l10n.t('Requests')}`,
    '',
    ...table(entries),
    '',
  ].join('\n');
}

/** Newest first, in columns that stand under each other, since the page is read as text. */
function table(entries: readonly NetworkEntry[]): string[] {
  if (entries.length === 0) return [l10n.t('None, since anllm was installed.')];
  const rows = [...entries].reverse().map(({ time, host, purpose, result, receivedBytes }) => {
    const shown = `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;
    return [shown, host, purpose, result, showBytes(receivedBytes)].map(cell);
  });
  const titles = [
    l10n.t('When'),
    l10n.t({ message: 'Host', comment: 'of the internet' }),
    l10n.t('What for'),
    l10n.t('Result'),
    l10n.t('Received'),
  ];
  const widths = titles.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

/** Names come from a hub: no text of theirs becomes a link, a picture or a column. */
function cell(text: string): string {
  return text.replaceAll(/[\\`[\]<>|!]/g, '\\$&').replaceAll(/\s+/g, ' ');
}

function code(text: string): string {
  return `\`${text.replaceAll('`', '')}\``;
}
