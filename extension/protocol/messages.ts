import {
  checkChatPart,
  checkChatRequest,
  checkChatResult,
  checkCountTokensRequest,
  checkCountTokensResult,
  type ChatPart,
  type ChatRequest,
  type ChatResult,
  type CountTokensRequest,
  type CountTokensResult,
} from './chat';
import { integer, nothing, object, text, type Check } from './check';
import {
  checkCompletionPartial,
  checkCompletionRequest,
  checkCompletionResult,
  type CompletionPartial,
  type CompletionRequest,
  type CompletionResult,
} from './completion';
import {
  checkClearedCache,
  checkEngineSettings,
  checkEngineStatus,
  checkEngineSummary,
  checkLogEntry,
  type ClearedCache,
  type EngineSettings,
  type EngineStatus,
  type EngineSummary,
  type LogEntry,
} from './engine';
import {
  checkFamilies,
  checkInspectModelRequest,
  checkInstalledModel,
  checkInstalledModels,
  checkListModelsRequest,
  type Families,
  type InspectModelRequest,
  type InstalledModel,
  type ListModelsRequest,
} from './models';
import {
  checkServerAddress,
  checkServerRequest,
  type ServerAddress,
  type ServerRequest,
} from './server';

export interface Hello {
  readonly protocolVersion: number;
  readonly settings: EngineSettings;
}

export interface HelloAnswer {
  readonly protocolVersion: number;
  readonly pid: number;
}

/**
 * Every request of host to engine child: parameters, result and, where the answer streams, the parts that come
 * before the result. `hello` is the first; the others are refused before it. `load` loads now what `complete` would
 * load on first use, `loadChat` the chat model; `listModels` looks for models on this computer,
 * `inspectModel` at one path; `families` says what the engine can load; `startServer` offers both models to other
 * programs; `clearCache` removes packed weights and kept conversations from the disk, `forgetConversations` only the
 * latter; `unload` frees both models; `shutdown` ends the child.
 */
export interface Requests {
  hello: { params: Hello; result: HelloAnswer; partial: never };
  load: { params: null; result: EngineSummary; partial: never };
  complete: { params: CompletionRequest; result: CompletionResult; partial: CompletionPartial };
  loadChat: { params: null; result: EngineSummary; partial: never };
  chat: { params: ChatRequest; result: ChatResult; partial: ChatPart };
  countTokens: { params: CountTokensRequest; result: CountTokensResult; partial: never };
  listModels: {
    params: ListModelsRequest;
    result: readonly InstalledModel[];
    partial: never;
  };
  inspectModel: { params: InspectModelRequest; result: InstalledModel; partial: never };
  families: { params: null; result: Families; partial: never };
  startServer: { params: ServerRequest; result: ServerAddress; partial: never };
  stopServer: { params: null; result: null; partial: never };
  clearCache: { params: null; result: ClearedCache; partial: never };
  forgetConversations: { params: null; result: null; partial: never };
  unload: { params: null; result: null; partial: never };
  shutdown: { params: null; result: null; partial: never };
}
export type Method = keyof Requests;

/** Every notification of engine child to host. */
export interface Notifications {
  /** Of the completion model. */
  status: EngineStatus;
  /** Of the chat model. */
  chatStatus: EngineStatus;
  log: LogEntry;
}
export type Topic = keyof Notifications;

interface RequestChecks<M extends Method> {
  readonly params: Check<Requests[M]['params']>;
  readonly result: Check<Requests[M]['result']>;
  readonly partial: Check<Requests[M]['partial']>;
}

const noPartial: Check<never> = (value, at) => {
  throw new Error(`${at}: unexpected partial result ${JSON.stringify(value)}`);
};

export const requestChecks: { readonly [M in Method]: RequestChecks<M> } = {
  hello: {
    params: object<Hello>({ protocolVersion: integer(0, 2 ** 31), settings: checkEngineSettings }),
    result: object<HelloAnswer>({ protocolVersion: integer(0, 2 ** 31), pid: integer(0, 2 ** 31) }),
    partial: noPartial,
  },
  load: { params: nothing, result: checkEngineSummary, partial: noPartial },
  complete: {
    params: checkCompletionRequest,
    result: checkCompletionResult,
    partial: checkCompletionPartial,
  },
  loadChat: { params: nothing, result: checkEngineSummary, partial: noPartial },
  chat: { params: checkChatRequest, result: checkChatResult, partial: checkChatPart },
  countTokens: {
    params: checkCountTokensRequest,
    result: checkCountTokensResult,
    partial: noPartial,
  },
  listModels: { params: checkListModelsRequest, result: checkInstalledModels, partial: noPartial },
  inspectModel: {
    params: checkInspectModelRequest,
    result: checkInstalledModel,
    partial: noPartial,
  },
  families: { params: nothing, result: checkFamilies, partial: noPartial },
  startServer: { params: checkServerRequest, result: checkServerAddress, partial: noPartial },
  stopServer: { params: nothing, result: nothing, partial: noPartial },
  clearCache: { params: nothing, result: checkClearedCache, partial: noPartial },
  forgetConversations: { params: nothing, result: nothing, partial: noPartial },
  unload: { params: nothing, result: nothing, partial: noPartial },
  shutdown: { params: nothing, result: nothing, partial: noPartial },
};

export const notificationChecks: { readonly [T in Topic]: Check<Notifications[T]> } = {
  status: checkEngineStatus,
  chatStatus: checkEngineStatus,
  log: checkLogEntry,
};

/** How parameters travel: with the token that the partial results of a streaming request carry. */
export interface Envelope {
  readonly params: unknown;
  readonly partialToken: string;
}
export const checkEnvelope: Check<Envelope> = object<Envelope>({
  params: (value) => value,
  partialToken: text(64),
});
