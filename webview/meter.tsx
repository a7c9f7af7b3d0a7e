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
  return (
    <button
      type="button"
      class={isFull || use.cut ? 'meter full' : 'meter'}
      aria-expanded={open}
      aria-controls={open ? 'context-panel' : undefined}
      title="What the model sees, and what was left out"
      onClick={toggle}
    >
      {thousands(use.usedTokens)} / {thousands(use.contextLength)}
      <span class="sr-only"> tokens of context</span>
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
    ['Conversation', use.conversationTokens],
    ['Attached', use.attachedTokens],
    ['Typed', use.typedTokens],
    ['The model’s context', use.contextLength],
  ] as const;
  return (
    <section
      id="context-panel"
      class="context-panel"
      aria-label="Context"
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      <header>
        <b>Context</b>
        <IconButton icon="close" label="Close" onClick={close} />
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
