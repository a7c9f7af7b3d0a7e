/** Classes of logits; a class of the widest vocabularies holds some hundred ids, and a draw sorts two or three. */
const NUM_CLASSES = 512;

/**
 * The ids of the likeliest tokens in the order of falling logit, the lower id first among equals; sorted only where somebody
 * looks. Ids fall into classes of near logits by one pass over the vocabulary; whole classes are counted and weighed
 * without their order. Weights are exp((logit - best) / temperature).
 */
export class FallingOrder {
  /** How many ids there are: those that the floor and `most` leave. */
  readonly length: number;
  /** Ids by class; class c is at starts[c] to starts[c + 1]. */
  private readonly ids: Int32Array;
  private readonly starts = new Int32Array(NUM_CLASSES + 1);
  private readonly isSorted = new Uint8Array(NUM_CLASSES);
  private readonly masses = new Float64Array(NUM_CLASSES).fill(-1);

  /**
   * @param logits [vocab]; values that are not finite are left out
   * @param range ids whose logit is further below `best`, the largest finite logit, are left out; above 0
   * @param most ids; at least 1
   * @param allowed the only ids that count; null: all
   */
  constructor(
    private readonly logits: Float32Array,
    private readonly best: number,
    private readonly temperature: number,
    range: number,
    most: number,
    allowed: readonly number[] | null,
  ) {
    const scale = NUM_CLASSES / range;
    const { starts } = this;
    const size = allowed?.length ?? logits.length;
    const classes = new Int16Array(size);
    for (let i = 0; i < size; i++) {
      const below = best - (logits[allowed === null ? i : (allowed[i] as number)] as number);
      const index =
        below >= 0 && below < range ? Math.min((below * scale) | 0, NUM_CLASSES - 1) : -1;
      classes[i] = index;
      if (index >= 0) (starts[index + 1] as number)++;
    }
    let lastClass = 0;
    let count = 0;
    for (let c = 0; c < NUM_CLASSES; c++) {
      if (count < most) lastClass = c;
      count += starts[c + 1] as number;
      starts[c + 1] = count;
    }
    this.ids = new Int32Array(starts[lastClass + 1] as number);
    const next = starts.slice();
    for (let i = 0; i < size; i++) {
      const index = classes[i] as number;
      if (index < 0 || index > lastClass) continue;
      this.ids[(next[index] as number)++] = allowed === null ? i : (allowed[i] as number);
    }
    this.length = Math.min(most, this.ids.length);
  }

  /** The id at a rank below `length`. */
  at(rank: number): number {
    this.sort(this.classAt(rank));
    return this.ids[rank] as number;
  }

  /** Weight of the first `count` ids together. */
  mass(count: number): number {
    let total = 0;
    const last = this.classAt(count - 1);
    for (let c = 0; c < last; c++) total += this.massOf(c);
    const end = this.starts[last + 1] as number;
    if (end <= count) return total + this.massOf(last);
    this.sort(last);
    for (let i = this.starts[last] as number; i < count; i++) total += this.weight(i);
    return total;
  }

  /** How many of the first ids have together at least this mass; `most` when they do not, and at least 1. */
  countOfMass(mass: number, most: number): number {
    let total = 0;
    for (let c = 0; c < NUM_CLASSES; c++) {
      const [begin, end] = this.bounds(c);
      if (begin >= most) break;
      if (begin === end) continue;
      if (total + this.massOf(c) < mass) {
        total += this.massOf(c);
        continue;
      }
      this.sort(c);
      for (let i = begin; i < Math.min(end, most); i++) {
        total += this.weight(i);
        if (total >= mass) return i + 1;
      }
    }
    return most;
  }

  /** How many of the first ids weigh at least `weight` each; `most` is the limit, 1 the least. */
  countOfWeight(weight: number, most: number): number {
    let low = 1;
    let high = most;
    while (low < high) {
      const middle = (low + high) >> 1;
      this.sort(this.classAt(middle));
      if (this.weight(middle) >= weight) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private weight(index: number): number {
    const logit = this.logits[this.ids[index] as number] as number;
    return Math.exp((logit - this.best) / this.temperature);
  }

  private massOf(c: number): number {
    if ((this.masses[c] as number) < 0) {
      const [begin, end] = this.bounds(c);
      let mass = 0;
      for (let i = begin; i < end; i++) mass += this.weight(i);
      this.masses[c] = mass;
    }
    return this.masses[c] as number;
  }

  private bounds(c: number): [begin: number, end: number] {
    const { starts, ids } = this;
    return [
      Math.min(starts[c] as number, ids.length),
      Math.min(starts[c + 1] as number, ids.length),
    ];
  }

  /** The class of a rank: the last one that begins at or before it. */
  private classAt(rank: number): number {
    let low = 0;
    let high = NUM_CLASSES - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] as number) <= rank) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private sort(c: number): void {
    if (this.isSorted[c] === 1) return;
    this.isSorted[c] = 1;
    const { logits } = this;
    this.ids
      .subarray(...this.bounds(c))
      .sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
  }
}
