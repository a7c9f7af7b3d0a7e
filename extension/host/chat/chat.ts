import { join } from 'node:path';
import type * as vscode from 'vscode';
import type { Configuration } from '../configuration';
import type { EngineSupervisor } from '../engine/supervisor';
import { DisposableStore, type Disposable } from '../lifecycle';
import type { Log } from '../log';
import { chatModelOf } from '../settings';
import type { Snapshots } from '../snapshots';
import { automaticAttachment } from './attachments';
import { CodeActions } from './code_actions';
import { ChatController } from './controller';
import { History } from './history';
import { modelState } from './model_state';
import { ChatView } from './view';

/** Where the open conversation is remembered, per workspace. */
const OPEN_KEY = 'anllm.chat.open';

export interface ChatParts {
  readonly context: vscode.ExtensionContext;
  readonly configuration: Configuration;
  readonly engine: EngineSupervisor;
  readonly snapshots: Snapshots;
  readonly log: Log;
}

/** The chat of this window, with the conversation that was open in the last one. */
export interface Chat extends Disposable {
  readonly controller: ChatController;
  readonly view: ChatView;
  readonly history: History;
}

export async function startChat(parts: ChatParts): Promise<Chat> {
  const { context, configuration, engine, snapshots, log } = parts;
  const store = new DisposableStore();
  const { workspaceState } = context;
  const warn = (message: string): void => log.write({ level: 'warn', message });
  const model = () => modelState(chatModelOf(configuration.current.engine), engine.chatStatus);
  const history = new History(join(context.globalStorageUri.fsPath, 'chats'), warn);
  const controller = new ChatController({
    chat: (request, options) => engine.chat(request, options),
    model,
    maxTokens: () => configuration.current.chat.maxTokens,
    temperature: () => configuration.current.chat.temperature,
    history,
    post: (message) => view.post(message),
    autoAttach: automaticAttachment,
    remember: (id) => void workspaceState.update(OPEN_KEY, id),
    forget: () => engine.forgetConversations(),
    log: warn,
    now: () => Date.now(),
  });
  const codeActions = new CodeActions(snapshots);
  const { extensionUri } = context;
  const view = new ChatView({ extensionUri, controller, history, codeActions, log });
  const tellModel = (): void => view.post({ kind: 'model', model: model() });
  store.add(engine.onChatStatus(tellModel));
  store.add(configuration.onChange(tellModel));
  await controller.restore(workspaceState.get<string>(OPEN_KEY));
  return { controller, view, history, dispose: () => store.dispose() };
}
