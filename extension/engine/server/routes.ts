import type { Call } from './call';
import { chatCompletions } from './endpoints/chat';
import { completions } from './endpoints/completions';
import { embeddings } from './endpoints/embeddings';
import { infill } from './endpoints/infill';
import { countTokens, messages } from './endpoints/messages';
import { listModels, showModel } from './endpoints/models';
import { responses } from './endpoints/responses';
import { health, metrics, version } from './endpoints/status';
import { detokenize, tokenize } from './endpoints/tokenize';
import { chatFields } from './fields/chat';
import { completionFields } from './fields/completion';
import { embeddingFields } from './fields/embeddings';
import { infillFields } from './fields/infill';
import { messagesApiFields } from './fields/messages_api';
import { responsesFields } from './fields/responses';
import { detokenizeFields, tokenizeFields } from './fields/tokenizer';
import type * as z from 'zod';

export interface Route {
  readonly method: 'GET' | 'POST';
  /** In Hono's words; `id` is the only parameter there is. */
  readonly path: string;
  readonly summary: string;
  /** Of the body; absent where there is none. */
  readonly fields?: z.ZodObject;
  readonly handle: (call: Call, id: string) => Promise<Response>;
}

/** A path as people write it. */
export function publicPath(path: string): string {
  return path.replace(/:(\w+)\{.*\}$/, '{$1}');
}

/** All that the server answers. The documentation is written from this table. */
export const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/health',
    summary: '200 when requests are served, else 503; needs no token',
    handle: health,
  },
  { method: 'GET', path: '/version', summary: 'the version of anllm', handle: version },
  { method: 'GET', path: '/metrics', summary: 'numbers for Prometheus', handle: metrics },
  { method: 'GET', path: '/v1/models', summary: 'the models', handle: listModels },
  { method: 'GET', path: '/v1/models/:id{.+}', summary: 'one model', handle: showModel },
  {
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'answers a conversation; needs a model with a chat template',
    fields: chatFields,
    handle: chatCompletions,
  },
  {
    method: 'POST',
    path: '/v1/completions',
    summary: 'continues a text, or fills the gap before `suffix`',
    fields: completionFields,
    handle: completions,
  },
  {
    method: 'POST',
    path: '/v1/embeddings',
    summary: 'texts as vectors of length 1',
    fields: embeddingFields,
    handle: embeddings,
  },
  {
    method: 'POST',
    path: '/v1/responses',
    summary: 'the same in the words of OpenAI’s newer API, without its storage',
    fields: responsesFields,
    handle: responses,
  },
  {
    method: 'POST',
    path: '/v1/messages',
    summary: 'the same as chat completions, in the words of Anthropic’s API',
    fields: messagesApiFields,
    handle: messages,
  },
  {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    summary: 'tokens of a prompt for `/v1/messages`, whose other fields it takes',
    handle: countTokens,
  },
  {
    method: 'POST',
    path: '/infill',
    summary: 'fills a gap, as llama.cpp’s server does',
    fields: infillFields,
    handle: infill,
  },
  {
    method: 'POST',
    path: '/tokenize',
    summary: 'the tokens of a text',
    fields: tokenizeFields,
    handle: tokenize,
  },
  {
    method: 'POST',
    path: '/detokenize',
    summary: 'the text of tokens',
    fields: detokenizeFields,
    handle: detokenize,
  },
];
