import type { ChatRequest, ChatResult } from '../../protocol/chat';
import type { CompletionRequest, CompletionResult } from '../../protocol/completion';
import type { EngineSummary, RemoteServer } from '../../protocol/engine';
import type { ChatRunOptions } from '../chat/chat';
import { type CompleteOptions, completeWith } from '../completion/complete';
import { remoteChat } from './chat';
import { remoteMiddle } from './completion';
import { Endpoint } from './endpoint';
import { hidingKey } from './hide_key';
import { countTokens, findFimRoute, findModel } from './probe';
import { estimateTokens } from './tokens';

/** When neither the settings nor the server say. */
const ASSUMED_CONTEXT = 4096;

/** What the child needs of a model, answered by a server. */
export interface RemoteEngine {
  readonly info: EngineSummary;
  readonly local: null;
  complete(request: CompletionRequest, options: CompleteOptions): Promise<CompletionResult>;
  chat(request: ChatRequest, options: ChatRunOptions): Promise<ChatResult>;
  countTokens(texts: readonly string[]): Promise<readonly number[]>;
  dispose(): Promise<void>;
}

/**
 * A model on an OpenAI-compatible server in place of one that runs here. Asks the server what it has; throws EngineError when
 * it does not answer or has no such model.
 */
export async function openRemote(
  /** `contextLength`: tokens; 0 = as the server says. */
  settings: RemoteServer & { readonly contextLength: number },
  onProgress: (message: string) => void = () => {},
): Promise<RemoteEngine> {
  const hidden = <T>(work: () => Promise<T>) => hidingKey(settings.apiKey, work);
  const engine = await hidden(() => connect(settings, onProgress));
  return {
    ...engine,
    complete: (request, options) => hidden(() => engine.complete(request, options)),
    chat: (request, options) => hidden(() => engine.chat(request, options)),
    countTokens: (texts) => hidden(() => engine.countTokens(texts)),
  };
}

async function connect(
  settings: RemoteServer & { readonly contextLength: number },
  onProgress: (message: string) => void,
): Promise<RemoteEngine> {
  const started = performance.now();
  const endpoint = new Endpoint(settings);
  onProgress(`asking ${endpoint.base}`);
  const model = await findModel(endpoint, settings.model);
  const { name } = model;
  const route = await findFimRoute(endpoint, settings.fim, model);
  const contextLength = settings.contextLength || (model.contextLength ?? ASSUMED_CONTEXT);
  const write = remoteMiddle(endpoint, name, route, contextLength);
  const info: EngineSummary = {
    model: name,
    title: name,
    modelDir: endpoint.base,
    backend: 'remote',
    backendDescription: `${endpoint.base}, completion by ${route.kind}`,
    fallbackReason: null,
    contextLength,
    threads: 0,
    loadMs: performance.now() - started,
    hasFim: true,
    hasChatTemplate: true,
  };
  return {
    info,
    local: null,
    complete: (request, options) => completeWith(write, request, options),
    chat: (request, options) => remoteChat(endpoint, name, contextLength, request, options),
    countTokens: (texts) =>
      Promise.all(
        texts.map(
          async (text) => (await countTokens(endpoint, name, text)) ?? estimateTokens(text),
        ),
      ),
    dispose: () => Promise.resolve(),
  };
}
