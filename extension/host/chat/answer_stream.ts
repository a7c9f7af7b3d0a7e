import type { ChatResult } from '../../protocol/chat';
import type { ToView } from '../../protocol/chat_view';
import type { AssistantTurn } from '../../protocol/conversation';
import { AnswerInProgress } from './answer';

/** Text goes to the page in pieces of this time: a frame or two. */
const POST_MS = 25;

/** Sends an answer to the page as it is written: the ends of texts in pieces, everything else as the whole turn. */
export class AnswerStream {
  private readonly answer: AnswerInProgress;
  private readonly waiting = { text: '', reasoning: '' };
  private timer: NodeJS.Timeout | null = null;

  constructor(
    turn: AssistantTurn,
    private readonly options: {
      readonly post: (message: ToView) => void;
      readonly now: () => number;
    },
    private readonly keep: (turn: AssistantTurn) => void,
  ) {
    this.answer = new AnswerInProgress(turn, options.now);
  }

  take(part: Parameters<AnswerInProgress['take']>[0]): void {
    const isWhole = this.answer.take(part);
    this.keep(this.answer.current);
    if (isWhole) {
      this.postWhole(this.answer.current);
    } else if (part.kind === 'text' || part.kind === 'reasoning') {
      this.waiting[part.kind] += part.text;
      this.timer ??= setTimeout(() => this.flush(), POST_MS);
    }
  }

  finish(result: ChatResult, model: string): void {
    this.end(this.answer.finish(result, model));
  }

  fail(message: string): void {
    this.end(this.answer.fail(message));
  }

  stopped(): void {
    this.end({ ...this.answer.current, state: 'stopped' });
  }

  private end(turn: AssistantTurn): void {
    this.keep(turn);
    this.postWhole(turn);
  }

  private postWhole(turn: AssistantTurn): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.waiting.text = '';
    this.waiting.reasoning = '';
    this.options.post({ kind: 'turn', turn });
  }

  private flush(): void {
    this.timer = null;
    for (const part of ['reasoning', 'text'] as const) {
      const text = this.waiting[part];
      this.waiting[part] = '';
      if (text !== '') {
        this.options.post({ kind: 'delta', turn: this.answer.current.id, part, text });
      }
    }
  }
}
