import type { CompletionPartial, CompletionResult } from '../../protocol/completion';
import { afterTyping, typingBetween, type Offer } from './offer';
import type { Snapshot } from './snapshot';

export type Send = (
  signal: AbortSignal,
  onPartial: (partial: CompletionPartial) => void,
) => Promise<CompletionResult>;

/** Nobody waits any more: the editor asks again within this time after a keystroke, or not at all. */
const ABANDONED_AFTER_MS = 250;

export type Wait =
  | { readonly kind: 'done' }
  /** Whole lines of an answer that takes its time; the rest comes later, out of the cache. */
  | { readonly kind: 'early'; readonly offer: Offer }
  /** The user typed something else. */
  | { readonly kind: 'disagrees' }
  | { readonly kind: 'aborted' };

/** A request to the engine, shared by the keystrokes that its stream agrees with. */
export class RunningRequest {
  readonly result: Promise<CompletionResult>;
  private readonly controller = new AbortController();
  private readonly listeners = new Set<() => void>();
  /** The stream so far, in the document's line ends. */
  private text = '';
  private replaceAfter = 0;
  private settled = false;
  private waiting = 0;
  private abandoned: NodeJS.Timeout | undefined;
  /** Whole lines are enough from this time on. */
  private early = false;

  constructor(
    readonly snapshot: Snapshot,
    send: Send,
    earlyMs: number,
  ) {
    const timer = setTimeout(() => {
      this.early = true;
      this.changed();
    }, earlyMs);
    this.result = send(this.controller.signal, ({ text, replaceAfter }) => {
      this.text = text.replaceAll('\n', snapshot.eol);
      this.replaceAfter = replaceAfter;
      this.changed();
    });
    const settle = (): void => {
      this.settled = true;
      clearTimeout(timer);
      clearTimeout(this.abandoned);
      this.changed();
    };
    this.result.then(settle, settle);
  }

  cancel(): void {
    clearTimeout(this.abandoned);
    this.controller.abort();
  }

  get cancelled(): boolean {
    return this.controller.signal.aborted;
  }

  /** Can this request still answer at `snapshot`? While nothing has come, it may. */
  agrees(snapshot: Snapshot): boolean {
    const typing = typingBetween(this.snapshot, snapshot);
    if (!typing || this.cancelled) return false;
    return this.text.startsWith(typing.typed) || typing.typed.startsWith(this.text);
  }

  /** Waits until there is something to say to `snapshot`; an abort ends the wait, not the request. */
  async wait(snapshot: Snapshot, signal: AbortSignal): Promise<Wait> {
    this.waiting++;
    clearTimeout(this.abandoned);
    try {
      for (;;) {
        if (signal.aborted) return { kind: 'aborted' };
        if (this.settled) return { kind: 'done' };
        if (!this.agrees(snapshot)) return { kind: 'disagrees' };
        const offer = this.early ? this.wholeLines(snapshot) : null;
        if (offer) return { kind: 'early', offer };
        await this.change(signal);
      }
    } finally {
      this.waiting--;
      if (this.waiting === 0 && signal.aborted && !this.settled) {
        this.abandoned = setTimeout(() => this.cancel(), ABANDONED_AFTER_MS);
      }
    }
  }

  private wholeLines(snapshot: Snapshot): Offer | null {
    const end = this.text.lastIndexOf(this.snapshot.eol);
    if (end < 0) return null;
    const lines = this.text.slice(0, end).trimEnd();
    const typing = typingBetween(this.snapshot, snapshot);
    return typing && afterTyping({ text: lines, replaceAfter: this.replaceAfter }, typing);
  }

  private change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.listeners.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.listeners.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  private changed(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
