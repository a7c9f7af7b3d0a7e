import * as vscode from 'vscode';
import { MODEL_SAMPLING, type ChatEnd, type ChatMessage } from '../../protocol/chat';
import type { EngineSupervisor } from '../engine/supervisor';

export interface Question {
  /** Of the notification that stands while the model writes. */
  readonly title: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature: number;
  readonly maxTokens: number;
  /** The notification's button aborts it. */
  readonly controller: AbortController;
  /** Gets all of the text so far whenever more has come. */
  readonly onText?: (text: string) => void;
}

export interface OneAnswer {
  /** As far as it came. */
  readonly text: string;
  readonly finish: ChatEnd;
}

/** Asks outside of any conversation, without tools or thoughts. An abort resolves with the end 'cancelled'. */
export async function askOnce(
  engine: Pick<EngineSupervisor, 'chat'>,
  { title, messages, temperature, maxTokens, controller, onText }: Question,
): Promise<OneAnswer> {
  const location = vscode.ProgressLocation.Notification;
  return vscode.window.withProgress({ location, title, cancellable: true }, async (_, token) => {
    const listener = token.onCancellationRequested(() => controller.abort());
    let text = '';
    try {
      const { finish } = await engine.chat(
        {
          messages,
          tools: [],
          toolChoice: 'auto',
          sampling: { ...MODEL_SAMPLING, temperature },
          thinking: 'off',
          maxTokens,
        },
        {
          signal: controller.signal,
          onPartial: (part) => {
            if (part.kind !== 'text') return;
            text += part.text;
            onText?.(text);
          },
        },
      );
      return { text, finish };
    } catch (error) {
      if (controller.signal.aborted) return { text, finish: 'cancelled' };
      throw error;
    } finally {
      listener.dispose();
    }
  });
}
