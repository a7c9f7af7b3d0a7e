import * as l10n from '@vscode/l10n';
import { assertNever } from '../protocol/errors';
import type { EngineSummary } from '../protocol/engine';
import { number } from '../protocol/numbers';
import type { SupervisedStatus } from './engine/supervisor';

/** What the status bar item depends on. */
export interface StatusInput {
  readonly enabled: boolean;
  /** Of the active editor; null without one. */
  readonly languageId: string | null;
  readonly languageEnabled: boolean;
  readonly snoozedMinutes: number;
  readonly engine: SupervisedStatus;
  /** Of the OpenAI-compatible server; null while it is off. */
  readonly serverPort: number | null;
  /** The last reason for which nothing was shown, as a sentence; empty when something was. */
  readonly why: string;
}

export interface StatusView {
  /** A codicon and the name. */
  readonly text: string;
  /** Lines of the tooltip; the first says the state, and is read to people who cannot see the icon. */
  readonly lines: readonly string[];
  readonly severity: 'normal' | 'warning' | 'error';
}

export function statusView(input: StatusInput): StatusView {
  const view = completionView(input);
  if (input.serverPort === null) return view;
  return {
    ...view,
    text: `${view.text} :${input.serverPort}`,
    lines: [
      ...view.lines,
      l10n.t('OpenAI server on port {serverPort}', { serverPort: input.serverPort }),
    ],
  };
}

function completionView(input: StatusInput): StatusView {
  const off = offState(input);
  if (off !== null) return { text: '$(circle-slash) anllm', lines: [off], severity: 'normal' };
  const { text, lines, severity = 'normal' } = engineView(input.engine);
  return { text, lines: input.why === '' ? lines : [...lines, input.why], severity };
}

function offState({
  enabled,
  languageId,
  languageEnabled,
  snoozedMinutes,
}: StatusInput): string | null {
  if (!enabled) return l10n.t('anllm: completions are disabled');
  if (snoozedMinutes > 0)
    return l10n.t('anllm: snoozed for {minutes} min', { minutes: snoozedMinutes });
  if (languageId !== null && !languageEnabled)
    return l10n.t('anllm: completions are disabled for {languageId}', { languageId });
  return null;
}

function engineView(
  engine: SupervisedStatus,
): Pick<StatusView, 'text' | 'lines'> & Partial<Pick<StatusView, 'severity'>> {
  switch (engine.state) {
    case 'stopped':
    case 'idle':
      return {
        text: '$(sparkle) anllm',
        lines: [l10n.t('anllm: the model is loaded when it is needed')],
      };
    case 'loading':
      return {
        text: '$(loading~spin) anllm',
        lines: [l10n.t('anllm: loading the model ({message})', { message: engine.message })],
      };
    case 'ready': {
      const size = number(engine.memoryBytes / 2 ** 20);
      return ready('$(sparkle) anllm', l10n.t('anllm: ready'), engine.engine, [
        l10n.t('Memory of the engine: {size} MB', { size }),
      ]);
    }
    case 'generating':
      return ready('$(sync~spin) anllm', l10n.t('anllm: generating'), engine.engine, []);
    case 'failed':
      return {
        text: '$(error) anllm',
        lines: [`anllm: ${engine.message}`],
        severity: 'error',
      };
    case 'crashed': {
      const { message, waitMs } = engine;
      const line =
        waitMs > 0
          ? l10n.t('anllm: {message}; it can start again in {seconds} s', {
              message,
              seconds: number(waitMs / 1000, 1),
            })
          : l10n.t('anllm: {message}; it starts again with the next completion', { message });
      return { text: '$(warning) anllm', lines: [line], severity: 'warning' };
    }
    default:
      return assertNever(engine);
  }
}

function ready(
  text: string,
  state: string,
  engine: EngineSummary,
  more: readonly string[],
): ReturnType<typeof engineView> {
  const lines = [state, engine.title, engine.backendDescription, ...more];
  if (engine.fallbackReason === null) return { text, lines };
  return {
    text,
    lines: [...lines, l10n.t('Slow: {reason}', { reason: engine.fallbackReason })],
    severity: 'warning',
  };
}
