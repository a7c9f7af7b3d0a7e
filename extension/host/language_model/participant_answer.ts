import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';
import { MODEL_SAMPLING, type ChatMessage } from '../../protocol/chat';
import type { Attachment } from '../../protocol/conversation';
import { automaticAttachment, rangeAttachment } from '../chat/attachments';
import { resourceAttachment } from '../chat/dropped';
import { cutNote, endNote } from '../chat/answer';
import { parseSlash, promptOf } from '../chat/prompt';
import { emptyAnswer, userTurn } from '../chat/turns';
import type { ProviderParts } from './provider';

/** Answers with the same prompts as in the chat view, and always with the model on this computer. */
export async function answer(
  { configuration, engine }: ProviderParts,
  request: vscode.ChatRequest,
  context: vscode.ChatContext,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<vscode.ChatResult> {
  const controller = new AbortController();
  const listener = token.onCancellationRequested(() => controller.abort());
  try {
    const { maxTokens, temperature } = configuration.current.chat;
    const messages = await promptFor(request, context);
    stream.progress(l10n.t('Reading…'));
    const result = await engine.chat(
      {
        messages,
        tools: [],
        toolChoice: 'auto',
        sampling: { ...MODEL_SAMPLING, temperature },
        thinking: 'auto',
        maxTokens,
      },
      {
        signal: controller.signal,
        onPartial: (part) => {
          if (part.kind === 'text') stream.markdown(part.text);
          if (part.kind === 'prompt' && part.cut) stream.markdown(`*${cutNote(part.cut)}*\n\n`);
        },
      },
    );
    const note = endNote(result);
    if (note !== '') stream.markdown(`\n\n*${note}*`);
    return {};
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { errorDetails: { message: `anllm: ${message}` } };
  } finally {
    listener.dispose();
  }
}

async function promptFor(
  request: vscode.ChatRequest,
  { history }: vscode.ChatContext,
): Promise<ChatMessage[]> {
  const turns = history.map((turn) =>
    turn instanceof vscode.ChatRequestTurn
      ? userTurn(withCommand(turn.command, turn.prompt), [])
      : { ...emptyAnswer(), text: turn instanceof vscode.ChatResponseTurn ? saidIn(turn) : '' },
  );
  const text = withCommand(request.command, request.prompt);
  const attached = await attachmentsOf(request.references);
  const automatic =
    attached.length === 0 && parseSlash(text).command ? automaticAttachment() : null;
  const attachments = automatic ? [automatic] : attached;
  return promptOf({ turns: [...turns, userTurn(text, attachments)] });
}

function withCommand(command: string | undefined, prompt: string): string {
  return command === undefined ? prompt : `/${command} ${prompt}`;
}

function saidIn({ response }: vscode.ChatResponseTurn): string {
  return response
    .map((part) => (part instanceof vscode.ChatResponseMarkdownPart ? part.value.value : ''))
    .join('');
}

/** What is attached in VS Code's own way: files, folders, places in files, and texts. */
async function attachmentsOf(
  references: readonly vscode.ChatPromptReference[],
): Promise<Attachment[]> {
  const found = await Promise.all(
    references.map(async ({ value, id }): Promise<Attachment | null> => {
      if (value instanceof vscode.Uri) return resourceAttachment(value);
      if (value instanceof vscode.Location) {
        const document = await vscode.workspace.openTextDocument(value.uri);
        return rangeAttachment(document, value.range);
      }
      if (typeof value !== 'string') return null;
      return { id, kind: 'selection', path: id, languageId: '', lines: null, text: value };
    }),
  );
  return found.filter((attachment) => attachment !== null);
}
