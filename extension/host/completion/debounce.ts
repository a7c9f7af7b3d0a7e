/** A longer wait would be noticed; the engine is fast enough that a shorter one gains nothing. */
const MAX_DELAY_MS = 75;
/** A pause of this length is no part of a typing rhythm. */
const PAUSE_MS = 1000;
/** Weight of the newest observation in the running means. */
const NEWEST = 0.3;

/**
 * How long to wait after a keystroke before the engine is asked. While answers come faster than keys, not at all;
 * otherwise about as long as the next key takes, so that a burst of typing costs one request and not one a key.
 */
export class Debounce {
  private lastKey = Number.NEGATIVE_INFINITY;
  private intervalMs = 200;
  private latencyMs = 50;

  keystroke(now: number): void {
    const interval = now - this.lastKey;
    this.lastKey = now;
    if (interval < PAUSE_MS) this.intervalMs += NEWEST * (interval - this.intervalMs);
  }

  answered(latencyMs: number): void {
    this.latencyMs += NEWEST * (latencyMs - this.latencyMs);
  }

  /** Milliseconds. */
  delay(): number {
    if (this.latencyMs <= this.intervalMs) return 0;
    return Math.round(Math.min(this.intervalMs, MAX_DELAY_MS));
  }
}
