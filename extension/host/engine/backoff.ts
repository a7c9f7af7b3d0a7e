const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** An engine that ran this long was healthy; its next crash counts as the first. */
const HEALTHY_MS = 60_000;

/** When a crashed engine may start again: at once after the first crash, then after 0.5 s, doubled up to 30 s. */
export class Backoff {
  private crashes = 0;
  private startedAt = 0;
  private retryAt = 0;

  started(now: number): void {
    this.startedAt = now;
  }

  crashed(now: number): void {
    if (now - this.startedAt >= HEALTHY_MS) this.crashes = 0;
    this.crashes++;
    const doublings = this.crashes - 2;
    const delay =
      doublings < 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** Math.min(doublings, 16), MAX_DELAY_MS);
    this.retryAt = now + delay;
  }

  /** Milliseconds until a start is allowed; 0 = now. */
  wait(now: number): number {
    return Math.max(0, this.retryAt - now);
  }

  reset(): void {
    this.crashes = 0;
    this.retryAt = 0;
  }
}
