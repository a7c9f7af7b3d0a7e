import type { DecisionLog } from './completion/decisions';
import type { Chat } from './chat/chat';
import type { CompletionService } from './completion/service';
import type { Configuration } from './configuration';
import type { InlineEdit } from './edit/inline_edit';
import type { EngineSupervisor } from './engine/supervisor';
import type { Lazy } from './lifecycle';
import type { Log } from './log';
import type { Models } from './models/models';
import type { OpenAiServer } from './openai/server';
import type { RemoteKey } from './remote_key';
import type { Snooze } from './snooze';

/** The parts of the running extension; what commands and the menu act on. */
export interface Host {
  readonly configuration: Configuration;
  readonly snooze: Snooze;
  readonly engine: EngineSupervisor;
  readonly remoteKey: RemoteKey;
  readonly server: OpenAiServer;
  readonly serverToken: () => Promise<string>;
  readonly completions: CompletionService;
  readonly decisions: DecisionLog;
  readonly chat: Lazy<Chat>;
  readonly inlineEdit: Lazy<InlineEdit>;
  readonly models: Lazy<Models>;
  readonly log: Log;
}
