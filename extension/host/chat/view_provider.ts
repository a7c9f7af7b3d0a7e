import * as vscode from 'vscode';
import type { Disposable, Lazy } from '../lifecycle';
import type { Chat } from './chat';
import { CHAT_VIEW } from './view_id';

/** The chat view. The chat is started when somebody looks at it. */
export function registerChatView(chat: Lazy<Chat>): Disposable {
  return vscode.window.registerWebviewViewProvider(CHAT_VIEW, {
    resolveWebviewView: async (view) => (await chat.get()).view.resolveWebviewView(view),
  });
}
