import * as l10n from '@vscode/l10n';
import { contextUse, cutLine, thousands } from './figures';
import { IconButton } from './parts';
import type { ViewState } from './state';

interface MeterProps {
  readonly state: ViewState;
  readonly typed: string;
  readonly open: boolean;
  readonly toggle: () => void;
}

/** How much of the context the next question takes; opens what it is made of. */
export function Meter({ state, typed, open, toggle }: MeterProps) {
  const use = contextUse(state.turns, state.attachments, typed, state.model.contextLength);
  if (use === null) return <span class="meter" />;
  const isFull = use.usedTokens > use.contextLength;
  const used = thousands(use.usedTokens);
  const length = thousands(use.contextLength);
  return (
    <button
      type="button"
      class={isFull || use.cut ? 'meter full' : 'meter'}
      aria-expanded={open}
      aria-controls={open ? 'context-panel' : undefined}
      title={l10n.t('What the model sees, and what was left out')}
      onClick={toggle}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && open) toggle();
      }}
    >
      <span aria-hidden="true">
        {used}
        <span class="of"> / {length}</span>
      </span>
      <span class="sr-only">{l10n.t('{used} / {length} tokens of context', { used, length })}</span>
    </button>
  );
}

interface ContextPanelProps {
  readonly state: ViewState;
  readonly typed: string;
  readonly close: () => void;
}

export function ContextPanel({ state, typed, close }: ContextPanelProps) {
  const use = contextUse(state.turns, state.attachments, typed, state.model.contextLength);
  if (use === null) return null;
  const rows = [
    [l10n.t('Conversation'), use.conversationTokens],
    [l10n.t('Attached'), use.attachedTokens],
    [l10n.t('Typed'), use.typedTokens],
    [l10n.t('The model’s context'), use.contextLength],
  ] as const;
  return (
    <section
      id="context-panel"
      class="context-panel"
      aria-label={l10n.t('Context')}
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      <header>
        <b>{l10n.t('Context')}</b>
        <IconButton icon="close" label={l10n.t('Close')} onClick={close} />
      </header>
      <table>
        <tbody>
          {rows.map(([what, tokens]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td>{thousands(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">{cutLine(use)}</p>
    </section>
  );
}
