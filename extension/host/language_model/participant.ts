import * as vscode from 'vscode';
import type { Disposable } from '../lifecycle';
import type { ProviderParts } from './provider';

const PARTICIPANT = 'anllm.chat';

/** `@anllm` in VS Code's own chat. */
export function registerParticipant(parts: ProviderParts): Disposable {
  const participant = vscode.chat.createChatParticipant(
    PARTICIPANT,
    async (request, context, stream, token) => {
      const { answer } = await import('./participant_answer');
      return answer(parts, request, context, stream, token);
    },
  );
  participant.iconPath = new vscode.ThemeIcon('comment-discussion');
  return participant;
}
