/** Lengths of a sequence at which its recurrent state is kept for others. A step must not go beyond the next one. */
export class Stops {
  private readonly within: readonly number[];

  constructor(
    /** Within the text that the sequence began with. */
    within: readonly number[] = [],
    /** Tokens of that text. */
    private readonly textLength = 0,
    /** In what follows it: at each multiple of so many tokens; null: nowhere. */
    private readonly every: number | null = null,
  ) {
    this.within = [...within].sort((a, b) => a - b);
  }

  /** The next stop after `length` tokens, or infinity. */
  next(length: number): number {
    const next = this.within.find((stop) => stop > length);
    if (next !== undefined || this.every === null) return next ?? Infinity;
    return floorTo(Math.max(length, this.textLength - 1), this.every) + this.every;
  }

  has(length: number): boolean {
    return this.next(length - 1) === length;
  }

  /** The stop that need not be kept any longer when `length` is: of an answer one is enough. */
  before(length: number): number | null {
    if (this.every === null || length - this.every < this.textLength) return null;
    return length - this.every;
  }
}

/** The largest multiple of `unit` that is at most `length`. */
export function floorTo(length: number, unit: number): number {
  return Math.floor(length / unit) * unit;
}
