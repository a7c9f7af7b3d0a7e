import type { RemoteFim } from '../../protocol/engine';
import { EngineError } from '../errors';
import { FIM_FAMILIES } from '../loading/fim_families';
import type { Endpoint } from './endpoint';

/** How the server is asked for a text in the middle. */
export type FimRoute =
  | { readonly kind: 'infill' }
  | { readonly kind: 'suffix' }
  | { readonly kind: 'template'; readonly template: string };

export interface RemoteModel {
  readonly name: string;
  /** Tokens, when the server tells. */
  readonly contextLength: number | null;
  /** What the server says of itself; '' when it does not. */
  readonly ownedBy: string;
}

/** The model that is asked for: the one that is set, else the first that the server lists. */
export async function findModel(endpoint: Endpoint, wanted: string): Promise<RemoteModel> {
  const answer = (await endpoint.json('/v1/models')) as { data?: unknown };
  const models = (Array.isArray(answer.data) ? answer.data : []) as Record<string, unknown>[];
  const names = models.map(({ id }) => id).filter((id) => typeof id === 'string');
  const name = wanted === '' ? names[0] : names.find((id) => id === wanted);
  if (name === undefined) {
    const has = names.length === 0 ? 'it lists none' : `it has ${names.slice(0, 20).join(', ')}`;
    const what = wanted === '' ? 'no model' : `no model ${JSON.stringify(wanted)}`;
    throw new EngineError(
      'bad_request',
      `${endpoint.base}: ${what}; ${has}; see anllm.remote.model`,
    );
  }
  const entry = models.find(({ id }) => id === name);
  const ownedBy = typeof entry?.owned_by === 'string' ? entry.owned_by : '';
  return { name, contextLength: contextOf(entry), ownedBy };
}

/** vLLM has max_model_len, llama.cpp and our own server meta.n_ctx or context_length. */
function contextOf(entry: Record<string, unknown> | undefined): number | null {
  const meta = (entry?.meta ?? {}) as Record<string, unknown>;
  const known = [entry?.max_model_len, entry?.context_length, meta.n_ctx, meta.n_ctx_train];
  return known.find((n): n is number => Number.isInteger(n) && (n as number) > 0) ?? null;
}

/**
 * infill: llama.cpp's /infill; suffix: the field of /v1/completions; template: the model's own control tokens in the prompt;
 * auto: what the server turns out to have.
 */
export async function findFimRoute(
  endpoint: Endpoint,
  fim: RemoteFim,
  { name: model, ownedBy }: RemoteModel,
): Promise<FimRoute> {
  if (fim === 'infill' || fim === 'suffix') return { kind: fim };
  if (fim === 'auto' && (await answers(endpoint, '/props'))) return { kind: 'infill' }; // llama.cpp
  // Only vLLM has no suffix and reads control tokens in a prompt.
  if (fim === 'auto' && ownedBy !== 'vllm') return { kind: 'suffix' };
  const template = await findTemplate(endpoint, model);
  if (template !== null) return { kind: 'template', template };
  throw new EngineError(
    'unsupported',
    `${endpoint.base}: ${model} has no fill-in-the-middle tokens that are known, or the server has no /tokenize; ` +
      'set anllm.remote.fim to "suffix" or "infill"',
  );
}

async function answers(endpoint: Endpoint, path: string): Promise<boolean> {
  try {
    await endpoint.json(path);
    return true;
  } catch {
    return false;
  }
}

/** The first family all of whose control tokens are single tokens to the server's tokenizer, as vLLM tells it. */
async function findTemplate(endpoint: Endpoint, model: string): Promise<string | null> {
  for (const { template } of FIM_FAMILIES) {
    const controls = template.split(/\{prefix\}|\{suffix\}/).filter((text) => text !== '');
    const counts = await Promise.all(controls.map((text) => countTokens(endpoint, model, text)));
    if (counts.some((count) => count === null)) return null;
    if (counts.every((count) => count === 1)) return template;
  }
  return null;
}

/** Null when the server does not tell. */
export async function countTokens(
  endpoint: Endpoint,
  model: string,
  text: string,
): Promise<number | null> {
  // vLLM's words, then those of llama.cpp and of our own server.
  const bodies = [{ model, prompt: text, add_special_tokens: false }, { content: text }];
  for (const body of bodies) {
    try {
      const answer = await endpoint.json('/tokenize', { method: 'POST', body });
      const { tokens } = answer as { tokens?: unknown };
      if (Array.isArray(tokens)) return tokens.length;
    } catch {
      // The next one, or an estimate.
    }
  }
  return null;
}
