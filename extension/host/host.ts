import type * as vscode from 'vscode';
import type { DecisionLog } from './completion/decisions';
import type { Chat } from './chat/chat';
import type { CompletionService } from './completion/service';
import type { Configuration } from './configuration';
import type { InlineEdit } from './edit/inline_edit';
import type { EngineSupervisor } from './engine/supervisor';
import type { RemoteKey } from './remote_key';
import type { ModelLibrary } from './models/library';
import type { NetworkLog } from './models/network_log';
import type { OpenAiServer } from './openai/server';
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
  readonly chat: Chat;
  readonly inlineEdit: InlineEdit;
  readonly library: ModelLibrary;
  readonly network: NetworkLog;
  readonly log: vscode.LogOutputChannel;
}
