/** Keeps the page free for its user while a long answer grows: what takes long to show is shown less often. */
import type { ToView } from '../extension/protocol/chat_view';

type Delta = Extract<ToView, { kind: 'delta' }>;

/** Times as long as the last text took to show, the page rests before it shows the next. */
const REST = 3;
/** What takes less than half of a frame need not be spared. */
const CHEAP_MS = 8;

/** Passes messages on in their order, and puts texts that come too fast together. */
export class PacedMessages {
  private waiting: Delta[] = [];
  private timer: number | undefined;
  private restUntil = 0;

  constructor(private readonly show: (message: ToView) => void) {}

  push(message: ToView): void {
    if (message.kind !== 'delta') {
      this.flush();
      this.show(message);
      return;
    }
    const last = this.waiting.at(-1);
    if (last?.turn === message.turn && last.part === message.part) {
      this.waiting[this.waiting.length - 1] = { ...last, text: last.text + message.text };
    } else {
      this.waiting.push(message);
    }
    if (this.timer !== undefined) return;
    const rest = this.restUntil - performance.now();
    if (rest <= 0) this.flush();
    else this.timer = window.setTimeout(() => this.flush(), rest);
  }

  private flush(): void {
    window.clearTimeout(this.timer);
    this.timer = undefined;
    const started = performance.now();
    for (const delta of this.waiting.splice(0)) this.show(delta);
    // By then the page is rendered and laid out.
    window.setTimeout(() => {
      const now = performance.now();
      const cost = now - started;
      this.restUntil = cost < CHEAP_MS ? 0 : now + REST * cost;
    });
  }
}
