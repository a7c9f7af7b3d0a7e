/** What a report of a problem says of the installation: versions and states, no path, no address, no text of anybody. */
import type { SupervisedStatus } from './engine/supervisor';
import type { Settings } from './settings';

export interface ReportFacts {
  readonly extension: string;
  readonly vscode: string;
  /** desktop, or how the window is hosted. */
  readonly host: string;
  readonly remote: string | undefined;
  readonly platform: string;
  readonly node: string;
  readonly processors: string;
  readonly memoryBytes: number;
  readonly isTrusted: boolean;
  readonly completion: SupervisedStatus;
  readonly chat: SupervisedStatus;
  readonly settings: Settings;
}

export function problemReport(facts: ReportFacts): string {
  const { settings } = facts;
  const { engine, chat } = settings;
  const { features } = engine;
  const rows: readonly (readonly [string, string])[] = [
    ['anllm', facts.extension],
    ['VS Code', `${facts.vscode}, ${facts.host}${facts.remote ? `, remote: ${facts.remote}` : ''}`],
    ['System', `${facts.platform}, Node ${facts.node}`],
    ['Processor', facts.processors],
    ['Memory', `${(facts.memoryBytes / 2 ** 30).toFixed(0)} GB`],
    ['Workspace', facts.isTrusted ? 'trusted' : 'restricted'],
    ['Completion engine', engineLine(facts.completion)],
    ['Chat engine', engineLine(facts.chat)],
    ['Completions', settings.enabled ? 'on' : 'off'],
    ['Backend setting', `${engine.backend}, ${engine.threads} threads`],
    ['Contexts', `${engine.contextLength} and ${engine.chatContextLength} (0 = the model’s own)`],
    [
      'Answers',
      `at most ${chat.maxTokens} tokens, temperature ${chat.temperature ?? 'the model’s'}`,
    ],
    [
      'Switches',
      `kernels ${features.kernels}, decodeAttentionKernel ${features.decodeAttentionKernel}, ` +
        `forceDequantized ${features.forceDequantized}`,
    ],
    ['Remote server', engine.remote === null ? 'none' : `set, fim ${engine.remote.fim}`],
  ];
  return [
    '# Report of a problem with anllm',
    'Nothing of this was sent anywhere. Read it, write what happened, and give it to whom you like.',
    '## What happened, and what you expected',
    '…',
    '## How to make it happen again',
    '1. …',
    '## The installation',
    ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${cell(value)} |`)].join(
      '\n',
    ),
    'The log (*anllm: Show Log*) often says more; it holds paths of this computer, so look it through before you add it.',
  ].join('\n\n');
}

/** Errors hold paths and addresses, so that only their kind is told. */
function engineLine(status: SupervisedStatus): string {
  switch (status.state) {
    case 'ready':
    case 'generating': {
      const { title, backend, contextLength, threads, fallbackReason } = status.engine;
      const slow = fallbackReason === null ? '' : ', not the backend that was wanted';
      const name = backend === 'remote' ? 'a remote server' : title;
      return `${status.state}: ${name}, ${backend}, ${threads} threads, context ${contextLength}${slow}`;
    }
    case 'failed':
      return `failed: ${status.code}`;
    default:
      return status.state;
  }
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
