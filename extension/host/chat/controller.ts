import { randomUUID } from 'node:crypto';
import * as l10n from '@vscode/l10n';
import { MODEL_SAMPLING, type ChatRequest, type ChatResult } from '../../protocol/chat';
import type { ToView, ModelState } from '../../protocol/chat_view';
import {
  MAX_ATTACHMENTS,
  type AssistantTurn,
  type Attachment,
  type Conversation,
} from '../../protocol/conversation';
import { ProtocolError } from '../../protocol/errors';
import type { CallOptions } from '../engine/link';
import { AnswerStream } from './answer_stream';
import type { History } from './history';
import { parseSlash, promptOf } from './prompt';
import {
  ask,
  branch,
  branchTitle,
  cleanTitle,
  edit,
  newConversation,
  replaceTurn,
  retry,
  settled,
  userTurn,
} from './turns';

export interface ChatOptions {
  readonly chat: (request: ChatRequest, options: CallOptions<'chat'>) => Promise<ChatResult>;
  readonly model: () => ModelState;
  readonly maxTokens: () => number;
  /** Null = the model's own. */
  readonly temperature: () => number | null;
  readonly history: History;
  readonly post: (message: ToView) => void;
  /** What a slash command without attachments is about: the selection, else the open file. */
  readonly autoAttach: () => Attachment | null;
  /** Keeps the id of the open conversation for the next window. */
  readonly remember: (id: string) => void;
  /** Removes what the engine keeps of conversations. */
  readonly forget: () => Promise<void>;
  readonly log: (message: string) => void;
  readonly now: () => number;
}

/** Of all attachments together; no context holds as many tokens. */
const MAX_ATTACHED_CHARS = 4 * 2 ** 20;
/** What a crash may lose of an answer. */
const SAVE_MS = 2000;

/** The open conversation: what was asked, the answer that is written, and the file of both. */
export class ChatController {
  private conversation: Conversation;
  private attachments: readonly Attachment[] = [];
  private running: AbortController | null = null;

  constructor(private readonly options: ChatOptions) {
    this.conversation = newConversation(options.now());
  }

  get current(): Conversation {
    return this.conversation;
  }

  /** Opens the conversation of the last window, when there is one. */
  async restore(id: string | undefined): Promise<void> {
    const found = id === undefined ? null : await this.options.history.read(id);
    if (found) this.setOpen(settled(found));
  }

  /** Tells a page that just loaded everything. */
  show(): void {
    const { post, model } = this.options;
    post({ kind: 'model', model: model() });
    post({ kind: 'conversation', conversation: this.conversation });
    post({ kind: 'attachments', attachments: this.attachments });
  }

  /** Resolves when the answer is there, whatever became of it. */
  async send(text: string): Promise<void> {
    if (this.running || (text.trim() === '' && this.attachments.length === 0)) return;
    const automatic =
      this.attachments.length === 0 && parseSlash(text).command ? this.options.autoAttach() : null;
    const attachments = automatic ? [automatic] : this.attachments;
    this.attachments = [];
    this.options.post({ kind: 'attachments', attachments: [] });
    await this.answer(ask(this.conversation, userTurn(text, attachments)));
  }

  async retry(answerId: string): Promise<void> {
    const next = this.running ? null : retry(this.conversation, answerId);
    if (next) await this.answer(next);
  }

  async edit(turnId: string, text: string): Promise<void> {
    const next = this.running ? null : edit(this.conversation, turnId, text);
    if (next) await this.answer(next);
  }

  /** Opens a copy that ends with that answer; the conversation itself stays as it is. */
  async branch(answerId: string): Promise<void> {
    const next = branch(this.conversation, answerId, this.options.now());
    if (!next) return;
    this.leave();
    this.setOpen(settled(next));
    await this.save();
  }

  stop(): void {
    this.running?.abort();
  }

  /** Throws an Error when there is too much. */
  attach(attachment: Attachment): void {
    const others = this.attachments.filter((old) => !sameText(old, attachment));
    const all = [...others, attachment];
    if (all.length > MAX_ATTACHMENTS) {
      throw new Error(
        l10n.t('no more than {most} attachments go with a question: attach a folder, or less.', {
          most: MAX_ATTACHMENTS,
        }),
      );
    }
    if (all.reduce((sum, { text }) => sum + text.length, 0) > MAX_ATTACHED_CHARS) {
      throw new Error(
        l10n.t(
          '{path} is too much beside what is attached already: no model has room for all of it.',
          {
            path: attachment.path,
          },
        ),
      );
    }
    this.setAttachments(all);
  }

  detach(id: string): void {
    this.setAttachments(this.attachments.filter((attachment) => attachment.id !== id));
  }

  newChat(): void {
    this.leave();
    this.setOpen(newConversation(this.options.now()));
  }

  /** Throws an Error when the chat is gone, or its file is damaged. */
  async open(id: string): Promise<void> {
    if (id === this.conversation.id) return;
    const found = await this.options.history.read(id);
    if (!found) {
      throw new Error(
        l10n.t(
          'this chat was deleted in another window, or its file is damaged: the log says more.',
        ),
      );
    }
    this.leave();
    this.setOpen(settled(found));
  }

  async rename(id: string, title: string): Promise<void> {
    const { history } = this.options;
    const isOpen = id === this.conversation.id;
    // The file may be newer than what this window shows of it, unless an answer is written here.
    const found = isOpen && this.running ? this.conversation : await history.read(id);
    if (!found) return;
    const renamed = { ...found, title: cleanTitle(title) };
    await history.save(renamed);
    if (id !== this.conversation.id) return;
    this.conversation = this.running ? { ...this.conversation, title: renamed.title } : renamed;
    this.options.post({ kind: 'conversation', conversation: this.conversation });
  }

  async remove(id: string): Promise<void> {
    if (id === this.conversation.id) this.newChat();
    await this.options.history.remove(id);
    await this.options.forget().catch((error: unknown) => {
      this.options.log(`what the engine keeps of the deleted chat stays for now: ${String(error)}`);
    });
  }

  /** Stops an answer whose chat is not shown any more; the next question does not wait for its end. */
  private leave(): void {
    if (!this.running) return;
    this.stop();
    this.running = null;
    void this.save();
  }

  /** Another window went on with the open chat: this one goes on with a copy, so that both are kept. */
  private async keepApart(): Promise<void> {
    const { id, title } = this.conversation;
    if ((await this.options.history.isOurs(id)) || this.conversation.id !== id) return;
    this.setOpen({ ...this.conversation, id: randomUUID(), title: branchTitle(title) });
  }

  private setOpen(conversation: Conversation): void {
    this.conversation = conversation;
    this.options.remember(conversation.id);
    this.options.post({ kind: 'conversation', conversation });
  }

  private setAttachments(attachments: readonly Attachment[]): void {
    this.attachments = attachments;
    this.options.post({ kind: 'attachments', attachments });
  }

  /** Answers the last question of a conversation that ends with an empty answer. */
  private async answer(conversation: Conversation): Promise<void> {
    const empty = conversation.turns.at(-1);
    if (empty?.role !== 'assistant') return;
    const { options } = this;
    const controller = new AbortController();
    this.running = controller;
    const begun: AssistantTurn = { ...empty, model: options.model().title };
    this.setOpen({ ...replaceTurn(conversation, begun), updatedAt: options.now() });
    await this.keepApart();
    const { id } = this.conversation;
    const stream = new AnswerStream(begun, options, (turn) => this.keep(id, turn));
    await this.save();
    try {
      const request: ChatRequest = {
        messages: promptOf({ turns: conversation.turns.slice(0, -1) }),
        tools: [],
        toolChoice: 'auto',
        sampling: { ...MODEL_SAMPLING, temperature: options.temperature() },
        thinking: 'auto',
        maxTokens: options.maxTokens(),
      };
      const { signal } = controller;
      const result = await options.chat(request, {
        signal,
        onPartial: (part) => stream.take(part),
      });
      stream.finish(result, options.model().title);
    } catch (error) {
      if (controller.signal.aborted) stream.stopped();
      else stream.fail(messageOf(error));
    } finally {
      if (this.running === controller) this.running = null;
    }
    if (this.conversation.id === id) await this.save();
  }

  /** The answer's conversation may no longer be the open one. */
  private keep(id: string, turn: AssistantTurn): void {
    if (this.conversation.id !== id) return;
    const saved = this.conversation.updatedAt;
    const now = this.options.now();
    const isDue = now - saved >= SAVE_MS;
    this.conversation = {
      ...replaceTurn(this.conversation, turn),
      updatedAt: isDue ? now : saved,
    };
    if (isDue) void this.save();
  }

  private async save(): Promise<void> {
    const { history, log } = this.options;
    if (this.conversation.turns.length === 0) return;
    await history.save(this.conversation).catch((error: unknown) => log(String(error)));
  }
}

function sameText(a: Attachment, b: Attachment): boolean {
  return a.path === b.path && a.kind === b.kind && a.text === b.text;
}

function messageOf(error: unknown): string {
  if (error instanceof ProtocolError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
