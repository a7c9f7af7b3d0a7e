import { MAX_COMPLETION_TOKENS, MULTILINE_MODES, type MultilineMode } from '../protocol/completion';
import {
  BACKEND_CHOICES,
  REMOTE_FIM,
  type EngineSettings,
  type RemoteServer,
} from '../protocol/engine';
import { MAX_PORT } from '../protocol/server';

/** The same as that of `anllm serve`. */
const DEFAULT_SERVER_PORT = 8642;

/** The settings as the extension uses them; a value of a wrong type counts as its default. */
export interface Settings {
  readonly enabled: boolean;
  /** By language id; '*' is for the others. */
  readonly languages: Readonly<Record<string, boolean>>;
  readonly multiline: MultilineMode;
  readonly maxTokens: number;
  /** Milliseconds; null = by typing rhythm. */
  readonly debounceMs: number | null;
  readonly chat: ChatSettings;
  /** Where models are downloaded from, without a slash at the end. */
  readonly hubUrl: string;
  readonly engine: EngineSettings;
  readonly server: ServerSettings;
}

/** Of the OpenAI-compatible server. */
export interface ServerSettings {
  readonly port: number;
  readonly origins: readonly string[];
}

export interface ChatSettings {
  /** Of one answer. */
  readonly maxTokens: number;
  /** Null = the model's own. */
  readonly temperature: number | null;
}

const DEFAULT_HUB = 'https://huggingface.co';

/** `get` reads a key below 'anllm'. */
export function parseSettings(get: (key: string) => unknown, builtInModel: string): Settings {
  const integer = (key: string, fallback: number, min: number, max: number): number => {
    const value = get(key);
    return typeof value === 'number' && Number.isFinite(value)
      ? Math.min(Math.max(Math.round(value), min), max)
      : fallback;
  };
  const words = (key: string): string => {
    const value = get(key);
    return typeof value === 'string' ? value.trim() : '';
  };
  const debounce = get('completion.debounce');
  const temperature = get('chat.temperature');
  return {
    enabled: get('completion.enabled') !== false,
    languages: languagesOf(get('completion.languages')),
    multiline: MULTILINE_MODES.find((mode) => mode === get('completion.multiline')) ?? 'auto',
    maxTokens: integer('completion.maxTokens', 256, 16, MAX_COMPLETION_TOKENS),
    debounceMs:
      typeof debounce === 'number' && debounce >= 0 ? Math.min(Math.round(debounce), 5000) : null,
    chat: {
      maxTokens: integer('chat.maxTokens', 2048, 16, 2 ** 17),
      temperature:
        typeof temperature === 'number' && temperature >= 0 ? Math.min(temperature, 2) : null,
    },
    hubUrl: hubOf(words('models.hubUrl')),
    engine: {
      modelDir: words('engine.model') || builtInModel,
      chatModelDir: words('chat.model'),
      draftModelDir: words('chat.draftModel'),
      backend: BACKEND_CHOICES.find((choice) => choice === get('engine.backend')) ?? 'auto',
      threads: integer('engine.threads', 0, 0, 256),
      contextLength: integer('engine.contextLength', 0, 0, 2 ** 20),
      chatContextLength: integer('chat.contextLength', 0, 0, 2 ** 20),
      batchSize: integer('engine.batchSize', 0, 0, 64),
      prefillStep: integer('engine.prefillStep', 0, 0, 4096),
      kvBits: get('engine.kvBits') === 8 ? 8 : 16,
      sessionCache: integer('engine.sessionCache', 1024, 0, 2 ** 20),
      idleMinutes: integer('engine.idleMinutes', 30, 0, 24 * 60),
      features: {
        kernels: get('engine.kernels') !== false,
        decodeAttentionKernel: get('engine.decodeAttentionKernel') !== false,
        forceDequantized: get('engine.forceDequantized') === true,
      },
      remote: remoteOf(words('remote.url'), words('remote.model'), get('remote.fim')),
    },
    server: {
      port: integer('server.port', DEFAULT_SERVER_PORT, 0, MAX_PORT),
      origins: originsOf(get('server.allowedOrigins')),
    },
  };
}

function hubOf(url: string): string {
  return /^https?:\/\/[^/]/.test(url) ? url.replace(/\/+$/, '') : DEFAULT_HUB;
}

/** What chats, for people: a server with its model, or a path; '' = nothing. */
export function chatModelOf({ remote, chatModelDir }: EngineSettings): string {
  return remote === null ? chatModelDir : remote.model || remote.url;
}

/** Texts that are an origin exactly; others never match one. */
function originsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((origin) => typeof origin === 'string');
}

/** The key is no setting: RemoteKey adds it. */
function remoteOf(url: string, model: string, fim: unknown): RemoteServer | null {
  if (url === '') return null;
  return { url, model, apiKey: '', fim: REMOTE_FIM.find((way) => way === fim) ?? 'auto' };
}

export function languageEnabled({ languages }: Settings, languageId: string): boolean {
  return languages[languageId] ?? languages['*'] ?? true;
}

/** True when the running engine does not fit the new settings. */
export function engineChanged(before: Settings, after: Settings): boolean {
  return JSON.stringify(before.engine) !== JSON.stringify(after.engine);
}

/** True when the same place would be answered in another way. */
export function answersChanged(before: Settings, after: Settings): boolean {
  return before.multiline !== after.multiline || before.maxTokens !== after.maxTokens;
}

function languagesOf(value: unknown): Record<string, boolean> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { '*': true };
  return Object.fromEntries(
    Object.entries(value).filter((pair): pair is [string, boolean] => typeof pair[1] === 'boolean'),
  );
}
