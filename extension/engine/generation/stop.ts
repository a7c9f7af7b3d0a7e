/** Ends a text before the first of several stop strings; holds back what may still become one. */
export class StopMatcher {
  /** The one that was met. */
  met: string | null = null;
  private pending = '';

  constructor(private readonly stops: readonly string[]) {}

  /** Text that is final after `delta`, and whether a stop string was met. */
  push(delta: string): { text: string; stopped: boolean } {
    const buffer = this.pending + delta;
    let cut = -1;
    for (const stop of this.stops) {
      const found = stop === '' ? -1 : buffer.indexOf(stop);
      if (found >= 0 && (cut < 0 || found < cut)) {
        cut = found;
        this.met = stop;
      }
    }
    if (cut >= 0) {
      this.pending = '';
      return { text: buffer.slice(0, cut), stopped: true };
    }
    const held = Math.max(0, ...this.stops.map((stop) => overlap(buffer, stop)));
    this.pending = buffer.slice(buffer.length - held);
    return { text: buffer.slice(0, buffer.length - held), stopped: false };
  }

  /** The text held back, when no more will come. */
  flush(): string {
    const rest = this.pending;
    this.pending = '';
    return rest;
  }
}

/** Length of the longest end of `text` that is a proper beginning of `stop`. */
function overlap(text: string, stop: string): number {
  for (let n = Math.min(text.length, stop.length - 1); n > 0; n--) {
    if (text.endsWith(stop.slice(0, n))) return n;
  }
  return 0;
}
