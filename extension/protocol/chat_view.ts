/** Every message between the chat view's page and the extension host. */
import { list, object, oneOf, text, union, type Check } from './check';
import type { Attachment, Conversation, HistoryEntry, Turn } from './conversation';

/** What a message may begin with; the page says what it is to people, the host what it is to the model. */
export const SLASH_NAMES = ['explain', 'fix', 'tests', 'doc'] as const;
export type SlashName = (typeof SLASH_NAMES)[number];

/** The chat model, for people. */
export interface ModelState {
  readonly state: 'none' | 'resting' | 'loading' | 'ready' | 'failed';
  readonly title: string;
  /** What is going on, or what went wrong. */
  readonly detail: string;
  /** Tokens; 0 while it is not known. */
  readonly contextLength: number;
}

/** A name of the workspace's code. */
export interface SymbolEntry {
  /** Of the list that it came with. */
  readonly id: string;
  readonly name: string;
  /** Where it is. */
  readonly detail: string;
}

export type ToView =
  /** A conversation is opened, or turns were cut off. */
  | { readonly kind: 'conversation'; readonly conversation: Conversation }
  /** The turn is new, or has changed other than by growing. */
  | { readonly kind: 'turn'; readonly turn: Turn }
  /** The answer grew. */
  | {
      readonly kind: 'delta';
      readonly turn: string;
      readonly part: 'text' | 'reasoning';
      readonly text: string;
    }
  | { readonly kind: 'model'; readonly model: ModelState }
  | { readonly kind: 'attachments'; readonly attachments: readonly Attachment[] }
  | { readonly kind: 'history'; readonly entries: readonly HistoryEntry[] }
  /** What fits the letters behind a `#` in the input. */
  | { readonly kind: 'symbols'; readonly query: string; readonly symbols: readonly SymbolEntry[] }
  /** Shows the history, or the input with `text` in it. */
  | { readonly kind: 'showHistory' }
  | { readonly kind: 'compose'; readonly text: string };

export const CODE_ACTIONS = ['copy', 'insert', 'apply', 'newFile'] as const;
export type CodeAction = (typeof CODE_ACTIONS)[number];

export type FromView =
  | { readonly kind: 'ready' }
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'stop' }
  | { readonly kind: 'retry'; readonly turn: string }
  | { readonly kind: 'edit'; readonly turn: string; readonly text: string }
  /** A new conversation that begins with this one, up to an answer. */
  | { readonly kind: 'branch'; readonly turn: string }
  | { readonly kind: 'newChat' }
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'open'; readonly id: string }
  | { readonly kind: 'rename'; readonly id: string; readonly title: string }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'export'; readonly id: string }
  | { readonly kind: 'attach' }
  | { readonly kind: 'detach'; readonly id: string }
  | { readonly kind: 'findSymbols'; readonly query: string }
  | { readonly kind: 'attachSymbol'; readonly id: string }
  /** Addresses of files and folders that were dropped on the page. */
  | { readonly kind: 'drop'; readonly uris: readonly string[] }
  | {
      readonly kind: 'code';
      readonly action: CodeAction;
      readonly code: string;
      readonly language: string;
    }
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'chooseModel' }
  | { readonly kind: 'showLog' };

const MAX_TEXT = 2 ** 20;
/** Whoever drops more means a folder. */
const MAX_DROPPED = 64;
const id = text(64);
type Of<K extends FromView['kind']> = Extract<FromView, { readonly kind: K }>;
const bare = <K extends FromView['kind']>(kind: K): Check<{ readonly kind: K }> =>
  object<{ readonly kind: K }>({ kind: oneOf([kind]) });

/** The page shows what a model wrote, so what it sends is checked like anybody's. */
export const checkFromView: Check<FromView> = union<'kind', FromView>('kind', {
  ready: bare('ready'),
  send: object<Of<'send'>>({ kind: oneOf(['send']), text: text(MAX_TEXT) }),
  stop: bare('stop'),
  retry: object<Of<'retry'>>({ kind: oneOf(['retry']), turn: id }),
  edit: object<Of<'edit'>>({ kind: oneOf(['edit']), turn: id, text: text(MAX_TEXT) }),
  branch: object<Of<'branch'>>({ kind: oneOf(['branch']), turn: id }),
  newChat: bare('newChat'),
  search: object<Of<'search'>>({ kind: oneOf(['search']), query: text(1024) }),
  open: object<Of<'open'>>({ kind: oneOf(['open']), id }),
  rename: object<Of<'rename'>>({ kind: oneOf(['rename']), id, title: text(1024) }),
  remove: object<Of<'remove'>>({ kind: oneOf(['remove']), id }),
  export: object<Of<'export'>>({ kind: oneOf(['export']), id }),
  attach: bare('attach'),
  detach: object<Of<'detach'>>({ kind: oneOf(['detach']), id }),
  findSymbols: object<Of<'findSymbols'>>({ kind: oneOf(['findSymbols']), query: text(256) }),
  attachSymbol: object<Of<'attachSymbol'>>({ kind: oneOf(['attachSymbol']), id }),
  drop: object<Of<'drop'>>({ kind: oneOf(['drop']), uris: list(text(8192), MAX_DROPPED) }),
  code: object<Of<'code'>>({
    kind: oneOf(['code']),
    action: oneOf(CODE_ACTIONS),
    code: text(MAX_TEXT),
    language: text(64),
  }),
  link: object<Of<'link'>>({ kind: oneOf(['link']), url: text(8192) }),
  chooseModel: bare('chooseModel'),
  showLog: bare('showLog'),
});
