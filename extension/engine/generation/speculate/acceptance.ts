/** What is believed before anything was tried, and returned to slowly while nothing is. */
const PRIOR = 0.6;
/** Weight of the newest draft, and of each chance that was let pass. */
const NEWEST = 0.15;
const FORGET = 0.02;

/** How often drafted tokens turn out right, and how many it pays to draft. */
export class Acceptance {
  /** Probability that a drafted token is right, given that those before it were. */
  private rate = PRIOR;

  /** Of `drafted` tokens the first `accepted` were right. */
  observe(drafted: number, accepted: number): void {
    if (drafted === 0) return;
    // The first wrong one ends the trial; those after it say nothing.
    const tried = Math.min(drafted, accepted + 1);
    for (let i = 0; i < tried; i++) this.rate += NEWEST * (+(i < accepted) - this.rate);
  }

  /**
   * The number of drafted tokens, at most `most`, with the most tokens a millisecond (Leviathan et al. 2023,
   * https://arxiv.org/abs/2211.17192, section 3); `cost`: milliseconds of a step with so many drafted tokens.
   */
  best(most: number, cost: (drafted: number) => number): number {
    let best = 0;
    let bestSpeed = 1 / cost(0);
    for (let drafted = 1, tokens = 1, chance = this.rate; drafted <= most; drafted++) {
      tokens += chance;
      chance *= this.rate;
      const speed = tokens / cost(drafted);
      if (speed > bestSpeed) {
        best = drafted;
        bestSpeed = speed;
      }
    }
    // So that drafts that did not pay are tried again one day.
    if (best === 0 && most > 0) this.rate += FORGET * (PRIOR - this.rate);
    return best;
  }
}
