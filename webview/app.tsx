import * as l10n from '@vscode/l10n';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import type { ToView } from '../extension/protocol/chat_view';
import { Composer } from './composer';
import { useDrop } from './drop';
import { useFocusHome } from './focus';
import { HistoryView } from './history_view';
import { post } from './host';
import { PacedMessages } from './pace';
import { RenderingContext, useRendering } from './rendering';
import { INITIAL, reduce, runningAnswer } from './state';
import { Answer, Question } from './turns';
import { Welcome } from './welcome';

/** Distance from the end, in pixels, at which the view still follows the answer. */
const FOLLOWS_PX = 40;

export function App() {
  const [state, dispatch] = useReducer(reduce, INITIAL);
  const log = useRef<HTMLElement>(null);
  const follows = useRef(true);
  const busy = runningAnswer(state.turns) !== null;
  const dropping = useDrop();
  const title = state.title === '' ? l10n.t('Chat') : state.title;
  const rendering = useRendering();
  useFocusHome();

  useEffect(() => {
    const messages = new PacedMessages(dispatch);
    const listener = ({ data }: MessageEvent<ToView>): void => messages.push(data);
    window.addEventListener('message', listener);
    post({ kind: 'ready' });
    return () => window.removeEventListener('message', listener);
  }, []);
  useLayoutEffect(() => {
    follows.current = true;
  }, [state.conversationId, state.turns.length]);
  useLayoutEffect(() => {
    const element = log.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, [state.turns, rendering]);

  if (state.history !== null) {
    return <HistoryView entries={state.history} close={() => dispatch({ kind: 'closeHistory' })} />;
  }
  return (
    <RenderingContext value={rendering}>
      <main
        ref={log}
        tabIndex={0}
        aria-label={title}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < FOLLOWS_PX;
        }}
      >
        <h1 class="sr-only">{title}</h1>
        {state.turns.length === 0 && (
          <Welcome model={state.model} start={(text) => dispatch({ kind: 'compose', text })} />
        )}
        {state.turns.map((turn) =>
          turn.role === 'user' ? (
            <Question key={turn.id} turn={turn} busy={busy} />
          ) : (
            <Answer key={turn.id} turn={turn} busy={busy} isLast={turn === state.turns.at(-1)} />
          ),
        )}
      </main>
      <Composer state={state} busy={busy} />
      {dropping && (
        <div class="drop" aria-hidden="true">
          {l10n.t('Drop to attach')}
        </div>
      )}
      <div class="sr-only" role="status" aria-live="polite">
        {state.announcement}
      </div>
    </RenderingContext>
  );
}
