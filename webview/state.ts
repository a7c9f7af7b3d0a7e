import * as l10n from '@vscode/l10n';
import type { ModelState, SymbolEntry, ToView } from '../extension/protocol/chat_view';
import type {
  AssistantTurn,
  Attachment,
  HistoryEntry,
  Turn,
} from '../extension/protocol/conversation';
import { assertNever } from '../extension/protocol/errors';

export interface ViewState {
  readonly conversationId: string;
  readonly title: string;
  readonly turns: readonly Turn[];
  readonly model: ModelState;
  readonly attachments: readonly Attachment[];
  /** What fits `query`, the letters behind a `#`. */
  readonly symbols: { readonly query: string; readonly list: readonly SymbolEntry[] };
  /** Null while the conversation is shown. */
  readonly history: readonly HistoryEntry[] | null;
  /** Said to screen readers. */
  readonly announcement: string;
  /** Text to put into the input; `at` makes equal texts differ. */
  readonly compose: { readonly text: string; readonly at: number } | null;
}

export const INITIAL: ViewState = {
  conversationId: '',
  title: '',
  turns: [],
  model: { state: 'resting', title: '', detail: '', contextLength: 0 },
  attachments: [],
  symbols: { query: '', list: [] },
  history: null,
  announcement: '',
  compose: null,
};

export type Action = ToView | { readonly kind: 'closeHistory' };

/** Most that a screen reader is given at once; the conversation itself can be read at leisure. */
const MAX_ANNOUNCED = 2000;

export function reduce(state: ViewState, action: Action): ViewState {
  switch (action.kind) {
    case 'conversation': {
      const { id, title, turns } = action.conversation;
      const isOther = id !== state.conversationId;
      const history = isOther ? null : state.history;
      return { ...state, conversationId: id, title, turns, history };
    }
    case 'turn': {
      const turns = state.turns.map((turn) => (turn.id === action.turn.id ? action.turn : turn));
      return { ...state, turns, announcement: announce(action.turn) ?? state.announcement };
    }
    case 'delta':
      return { ...state, turns: state.turns.map((turn) => grown(turn, action)) };
    case 'model':
      return { ...state, model: action.model };
    case 'attachments':
      return { ...state, attachments: action.attachments };
    case 'symbols':
      return { ...state, symbols: { query: action.query, list: action.symbols } };
    case 'history':
      return state.history === null ? state : { ...state, history: action.entries };
    case 'showHistory':
      return { ...state, history: [] };
    case 'closeHistory':
      return { ...state, history: null };
    case 'compose': {
      const compose = { text: action.text, at: (state.compose?.at ?? 0) + 1 };
      return { ...state, history: null, compose };
    }
    default:
      return assertNever(action);
  }
}

/** The answer that is being written. */
export function runningAnswer(turns: readonly Turn[]): AssistantTurn | null {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return null;
  return last.state === 'waiting' || last.state === 'streaming' ? last : null;
}

function grown(turn: Turn, { turn: id, part, text }: Extract<ToView, { kind: 'delta' }>): Turn {
  if (turn.id !== id || turn.role !== 'assistant') return turn;
  return part === 'text'
    ? { ...turn, text: turn.text + text }
    : { ...turn, reasoning: turn.reasoning + text };
}

function announce(turn: Turn): string | null {
  if (turn.role !== 'assistant') return null;
  switch (turn.state) {
    case 'waiting':
    case 'streaming':
      return l10n.t('The answer is being written');
    case 'stopped':
      return l10n.t('The answer was stopped');
    case 'failed':
      return l10n.t('The answer failed: {problem}', { problem: turn.problem });
    case 'done':
      return l10n.t('Answer: {text}', { text: turn.text.slice(0, MAX_ANNOUNCED) });
    default:
      return assertNever(turn.state);
  }
}
