import {
  amount,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  text,
  union,
  type Check,
} from './check';

/** What a model wants called; `arguments` is JSON text, an object. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string;
      /** What the model thought before it answered; templates decide whether they show it again. */
      readonly reasoning: string;
      readonly toolCalls: readonly ToolCall[];
    }
  | {
      readonly role: 'tool';
      readonly content: string;
      readonly toolCallId: string;
      readonly name: string;
    };

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments, as text. */
  readonly parameters: string;
}

/** null = what the model's authors recommend. */
export interface ChatSampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly seed: number | null;
}

export const MODEL_SAMPLING: ChatSampling = {
  temperature: null,
  topP: null,
  topK: null,
  seed: null,
};

export const THINKING_MODES = ['auto', 'on', 'off'] as const;
/** For models that can think first; auto = as the model does by itself. */
export type ThinkingMode = (typeof THINKING_MODES)[number];

export const TOOL_CHOICES = ['auto', 'required'] as const;
/** Whether the model may answer without a call. */
export type ToolChoice = (typeof TOOL_CHOICES)[number];

export interface ChatRequest {
  /** At least one; the last is what is answered. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  /** 'required' wants at least one tool. */
  readonly toolChoice: ToolChoice;
  readonly sampling: ChatSampling;
  readonly thinking: ThinkingMode;
  /** Most tokens of the answer, its thoughts included. */
  readonly maxTokens: number;
}

/** What was left out because the model's context is too small for all of it. */
export interface ContextCut {
  /** Messages before the oldest one that the model still sees, system messages not counted. */
  readonly messages: number;
  /** Tokens that the whole conversation would have had. */
  readonly wantedTokens: number;
}

/** In this order: one `prompt`, then thoughts, text and calls as they are written. */
export type ChatPart =
  | {
      readonly kind: 'prompt';
      readonly promptTokens: number;
      readonly contextLength: number;
      readonly cut: ContextCut | null;
    }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'toolCall'; readonly call: ToolCall };

export const CHAT_ENDS = ['stop', 'length', 'tool_calls', 'cancelled'] as const;
export type ChatEnd = (typeof CHAT_ENDS)[number];

/** Tokens. */
export interface ChatUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
}

/** Milliseconds. */
export interface ChatTimings {
  readonly queueMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
  readonly totalMs: number;
}

export interface ChatResult {
  readonly finish: ChatEnd;
  readonly usage: ChatUsage;
  readonly timings: ChatTimings;
}

export const MAX_COUNTED_TEXTS = 1024;

export interface CountTokensRequest {
  readonly texts: readonly string[];
}

export interface CountTokensResult {
  /** One a text. */
  readonly counts: readonly number[];
}

/** A repository's worth of attachments; more does not fit any context. */
const MAX_TEXT = 8 * 2 ** 20;
const MAX_MESSAGES = 4096;
/** VS Code's agent mode offers 40 tools; language servers and MCP servers add to them. */
const MAX_TOOLS = 512;
const MAX_SCHEMA = 256 * 1024;
const MAX_NAME = 256;
export const MAX_CHAT_TOKENS = 2 ** 20;
const MAX_SEED = Number.MAX_SAFE_INTEGER;
const count = integer(0, 2 ** 31);

const checkToolCall: Check<ToolCall> = object<ToolCall>({
  id: text(MAX_NAME),
  name: text(MAX_NAME),
  arguments: text(MAX_TEXT),
});

type MessageOf<R extends ChatMessage['role']> = Extract<ChatMessage, { readonly role: R }>;

const checkMessage = union<'role', ChatMessage>('role', {
  system: object<MessageOf<'system'>>({ role: oneOf(['system']), content: text(MAX_TEXT) }),
  user: object<MessageOf<'user'>>({ role: oneOf(['user']), content: text(MAX_TEXT) }),
  assistant: object<MessageOf<'assistant'>>({
    role: oneOf(['assistant']),
    content: text(MAX_TEXT),
    reasoning: text(MAX_TEXT),
    toolCalls: list(checkToolCall, MAX_TOOLS),
  }),
  tool: object<MessageOf<'tool'>>({
    role: oneOf(['tool']),
    content: text(MAX_TEXT),
    toolCallId: text(MAX_NAME),
    name: text(MAX_NAME),
  }),
});

export const checkChatRequest: Check<ChatRequest> = object<ChatRequest>({
  messages: list(checkMessage, MAX_MESSAGES),
  tools: list(
    object<ToolDefinition>({
      name: text(MAX_NAME),
      description: text(MAX_SCHEMA),
      parameters: text(MAX_SCHEMA),
    }),
    MAX_TOOLS,
  ),
  toolChoice: oneOf(TOOL_CHOICES),
  sampling: object<ChatSampling>({
    temperature: nullable(number(0, 10)),
    topP: nullable(number(0, 1)),
    topK: nullable(integer(0, 2 ** 20)),
    seed: nullable(integer(0, MAX_SEED)),
  }),
  thinking: oneOf(THINKING_MODES),
  maxTokens: integer(1, MAX_CHAT_TOKENS),
});

export const checkChatPart: Check<ChatPart> = union<'kind', ChatPart>('kind', {
  prompt: object<Extract<ChatPart, { kind: 'prompt' }>>({
    kind: oneOf(['prompt']),
    promptTokens: count,
    contextLength: count,
    cut: nullable(object<ContextCut>({ messages: count, wantedTokens: count })),
  }),
  reasoning: object<Extract<ChatPart, { kind: 'reasoning' }>>({
    kind: oneOf(['reasoning']),
    text: text(MAX_TEXT),
  }),
  text: object<Extract<ChatPart, { kind: 'text' }>>({
    kind: oneOf(['text']),
    text: text(MAX_TEXT),
  }),
  toolCall: object<Extract<ChatPart, { kind: 'toolCall' }>>({
    kind: oneOf(['toolCall']),
    call: checkToolCall,
  }),
});

export const checkChatResult: Check<ChatResult> = object<ChatResult>({
  finish: oneOf(CHAT_ENDS),
  usage: object<ChatUsage>({ promptTokens: count, cachedTokens: count, generatedTokens: count }),
  timings: object<ChatTimings>({
    queueMs: amount,
    prefillMs: amount,
    decodeMs: amount,
    totalMs: amount,
  }),
});

export const checkCountTokensRequest: Check<CountTokensRequest> = object<CountTokensRequest>({
  texts: list(text(MAX_TEXT), MAX_COUNTED_TEXTS),
});

export const checkCountTokensResult: Check<CountTokensResult> = object<CountTokensResult>({
  counts: list(count, MAX_COUNTED_TEXTS),
});
