import * as l10n from '@vscode/l10n';
import { useEffect, useRef, useState } from 'preact/hooks';
import { draft, post } from './host';
import { ContextPanel, Meter } from './meter';
import { Icon, IconButton } from './parts';
import { suggestions, symbolQuery, type Suggestion } from './suggestions';
import type { ViewState } from './state';
import { Attachments } from './turns';

interface ComposerProps {
  readonly state: ViewState;
  readonly busy: boolean;
}

export function Composer({ state, busy }: ComposerProps) {
  const [text, setText] = useState(() => draft.load());
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState(false);
  const [panel, setPanel] = useState(false);
  const input = useRef<HTMLTextAreaElement>(null);
  const offered = dismissed ? [] : suggestions(text, state.symbols);
  const change = (value: string): void => {
    setText(value);
    setChosen(0);
    setDismissed(false);
    draft.save(value);
    const query = symbolQuery(value);
    if (query !== null) post({ kind: 'findSymbols', query });
  };
  useEffect(() => {
    if (!state.compose) return;
    if (state.compose.text !== '') change(state.compose.text);
    input.current?.focus();
  }, [state.compose]);
  useEffect(() => {
    const element = input.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`;
  }, [text]);

  const send = (): void => {
    if (busy || (text.trim() === '' && state.attachments.length === 0)) return;
    // What was typed waits for a model.
    if (state.model.state === 'none') return post({ kind: 'chooseModel' });
    post({ kind: 'send', text });
    change('');
  };
  const take = (pick: Suggestion): void => {
    if (pick.kind === 'symbol') post({ kind: 'attachSymbol', id: pick.id });
    change(pick.text);
  };
  const complete = (): boolean => {
    const pick = offered[chosen];
    if (pick) take(pick);
    return pick !== undefined;
  };
  const lastQuestion = state.turns.findLast(({ role }) => role === 'user')?.text ?? '';
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && offered.length > 0) {
      setChosen((chosen + step + offered.length) % offered.length);
    } else if (event.key === 'Tab' && !event.shiftKey && complete()) {
      // taken
    } else if (event.key === 'Enter' && !event.shiftKey) {
      const isWhole = offered[chosen]?.text.trim() === text;
      if (isWhole || !complete()) send();
    } else if (event.key === 'Escape' && offered.length > 0) {
      setDismissed(true);
    } else if (event.key === 'Escape' && panel) {
      setPanel(false);
    } else if (event.key === 'Escape' && busy) {
      post({ kind: 'stop' });
    } else if (event.key === 'ArrowUp' && text === '' && lastQuestion !== '') {
      change(lastQuestion);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <form
      class="composer"
      aria-label={l10n.t('Question')}
      onSubmit={(event) => event.preventDefault()}
    >
      {offered.length > 0 && (
        <ul class="suggestions" role="listbox" id="suggestions" aria-label={l10n.t('Suggestions')}>
          {offered.map((suggestion, index) => (
            <li
              key={suggestion.id}
              id={`suggestion-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                take(suggestion);
              }}
            >
              <b>{suggestion.label}</b> <span class="detail">{suggestion.detail}</span>
            </li>
          ))}
        </ul>
      )}
      {panel && <ContextPanel state={state} typed={text} close={() => setPanel(false)} />}
      <div class="box">
        <Attachments
          attachments={state.attachments}
          onRemove={(id) => post({ kind: 'detach', id })}
        />
        <textarea
          ref={input}
          rows={1}
          value={text}
          dir="auto"
          placeholder={l10n.t({
            message: 'Ask about code, / or #',
            comment: '/ begins a command, # the name of a symbol',
          })}
          aria-label={l10n.t('Message')}
          aria-controls={offered.length > 0 ? 'suggestions' : undefined}
          aria-autocomplete="list"
          aria-activedescendant={offered[chosen] ? `suggestion-${chosen}` : undefined}
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <div class="tools">
          <IconButton
            icon="attach"
            label={l10n.t('Attach…')}
            onClick={() => post({ kind: 'attach' })}
          />
          <ModelButton state={state} />
          <Meter state={state} typed={text} open={panel} toggle={() => setPanel(!panel)} />
          {busy ? (
            <IconButton
              icon="debug-stop"
              label={l10n.t('Stop (Escape)')}
              onClick={() => post({ kind: 'stop' })}
            />
          ) : (
            <IconButton icon="send" label={l10n.t('Send (Enter)')} onClick={send} />
          )}
        </div>
      </div>
    </form>
  );
}

function ModelButton({ state: { model } }: { state: ViewState }) {
  const title = model.title === '' ? l10n.t('Choose a model') : model.title;
  return (
    <button
      type="button"
      class="model"
      title={model.detail === '' ? l10n.t('Choose another chat model') : model.detail}
      onClick={() => post({ kind: 'chooseModel' })}
    >
      {model.state === 'loading' && <Icon name="loading" />}
      {model.state === 'failed' && <Icon name="warning" />}
      <span>{title}</span>
      <Icon name="chevron-down" />
    </button>
  );
}
