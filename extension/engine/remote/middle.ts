import type { FinishReason } from '../generation/types';
import type { Endpoint } from './endpoint';
import { jsonEvents } from './events';
import type { FimRoute } from './probe';

export interface MiddleRequest {
  readonly prefix: string;
  readonly suffix: string;
  readonly maxTokens: number;
  readonly signal: AbortSignal | undefined;
  /** False ends the generation. */
  readonly onText: (delta: string) => boolean;
}

export interface MiddleResult {
  readonly finish: FinishReason;
  /** Milliseconds until the first text. */
  readonly firstMs: number;
  readonly chunks: number;
}

/** Streams the text between prefix and suffix. An abort resolves with 'cancelled'. Throws EngineError. */
export async function streamMiddle(
  endpoint: Endpoint,
  model: string,
  route: FimRoute,
  request: MiddleRequest,
): Promise<MiddleResult> {
  const started = performance.now();
  const enough = new AbortController();
  const { signal } = request;
  const both = signal ? AbortSignal.any([signal, enough.signal]) : enough.signal;
  const { path, body } = callOf(model, route, request);
  let [firstMs, chunks] = [0, 0];
  let finish: FinishReason = 'stop';
  try {
    const stream = await endpoint.stream(path, body, both);
    for await (const event of jsonEvents(stream, `${endpoint.base}${path}`)) {
      const { text, isFull } = chunkOf(event);
      if (isFull) finish = 'length';
      if (text === '') continue;
      if (chunks++ === 0) firstMs = performance.now() - started;
      if (!request.onText(text)) break;
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    finish = 'cancelled';
  } finally {
    // A stream that is not read to its end would go on on the server.
    enough.abort();
  }
  return { finish: signal?.aborted === true ? 'cancelled' : finish, firstMs, chunks };
}

function callOf(
  model: string,
  route: FimRoute,
  { prefix, suffix, maxTokens }: MiddleRequest,
): { path: string; body: object } {
  const common = { model, temperature: 0, stream: true };
  switch (route.kind) {
    case 'infill':
      return {
        path: '/infill',
        body: {
          ...common,
          input_prefix: prefix,
          input_suffix: suffix,
          n_predict: maxTokens,
          cache_prompt: true,
        },
      };
    case 'suffix':
      return {
        path: '/v1/completions',
        body: { ...common, prompt: prefix, suffix, max_tokens: maxTokens },
      };
    case 'template':
      return {
        path: '/v1/completions',
        body: { ...common, prompt: filled(route.template, prefix, suffix), max_tokens: maxTokens },
      };
  }
}

/**
 * The template with the document's text in it. The server reads control tokens wherever it sees them, so where the document
 * spells one, a blank keeps it from being one.
 */
function filled(template: string, prefix: string, suffix: string): string {
  const controls = template.split(/\{prefix\}|\{suffix\}/).filter((text) => text !== '');
  const plain = (text: string) =>
    controls.reduce((t, c) => t.replaceAll(c, `${c.slice(0, 1)} ${c.slice(1)}`), text);
  return template
    .split(/(\{prefix\}|\{suffix\})/)
    .map((part) =>
      part === '{prefix}' ? plain(prefix) : part === '{suffix}' ? plain(suffix) : part,
    )
    .join('');
}

/** OpenAI's chunks have choices, llama.cpp's /infill content. */
function chunkOf(event: unknown): { text: string; isFull: boolean } {
  const { choices, content, stop_type, stopped_limit } = Object(event) as Record<string, unknown>;
  if (typeof content === 'string') {
    return { text: content, isFull: stop_type === 'limit' || stopped_limit === true };
  }
  const [choice] = (Array.isArray(choices) ? choices : []) as {
    text?: unknown;
    finish_reason?: unknown;
  }[];
  return {
    text: typeof choice?.text === 'string' ? choice.text : '',
    isFull: choice?.finish_reason === 'length',
  };
}
