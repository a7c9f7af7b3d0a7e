interface Sample {
  readonly tokens: number;
  readonly ms: number;
}

/** Weight of the newest step: old enough steps are forgotten as the context grows or the machine gets busy. */
const NEWEST = 0.3;
/** Before the first prefill; small, so that a slow machine shows itself at a low price. */
const FIRST_GUESS: Sample = { tokens: 16, ms: 12 };

/**
 * How long a step of n tokens takes on this machine: a line through the typical decode step and the typical step with
 * prefill. Its slope is the price of one more token, its start the price of reading the weights.
 */
export class StepCost {
  private decode: Sample | null = null;
  private prefill: Sample | null = null;

  observe(tokens: number, ms: number, hasPrefill: boolean): void {
    if (hasPrefill) this.prefill = blend(this.prefill, { tokens, ms });
    else this.decode = blend(this.decode, { tokens, ms });
  }

  /** Whether a step with prefill has been seen. */
  get isKnown(): boolean {
    return this.prefill !== null;
  }

  /** Milliseconds. */
  estimate(tokens: number): number {
    const { base, perToken } = this.line();
    return base + tokens * perToken;
  }

  /** The most tokens that a step of `ms` takes, at least 0. */
  tokensWithin(ms: number): number {
    const { base, perToken } = this.line();
    return Math.max(0, Math.floor((ms - base) / perToken));
  }

  private line(): { base: number; perToken: number } {
    const { decode, prefill } = this;
    const far = prefill ?? FIRST_GUESS;
    if (decode !== null && far.tokens > decode.tokens) {
      const perToken = (far.ms - decode.ms) / (far.tokens - decode.tokens);
      const base = decode.ms - decode.tokens * perToken;
      if (perToken > 0 && base >= 0) return { base, perToken };
    }
    // Too close together or out of order, as when the machine was busy for one of them.
    return { base: 0, perToken: Math.max(far.ms / far.tokens, Number.EPSILON) };
  }
}

function blend(old: Sample | null, { tokens, ms }: Sample): Sample {
  if (old === null) return { tokens, ms };
  return {
    tokens: old.tokens + NEWEST * (tokens - old.tokens),
    ms: old.ms + NEWEST * (ms - old.ms),
  };
}
