/** Random numbers of a test case, the same in every run: a 32-bit counter through an integer hash. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = mix(seed + 1, 0x9e3779b9);
  }

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x9e3779b9) | 0;
    return mix(this.state, 0x85ebca6b) / 2 ** 32;
  }

  /** A whole number in [low, high]. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.int(0, items.length - 1)] ?? items[0];
  }
}

/** An unsigned 32-bit hash of two numbers. */
export function mix(a: number, b: number): number {
  let h = Math.imul(a ^ (a >>> 16), 0x7feb352d) ^ Math.imul(b ^ (b >>> 15), 0x846ca68b);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}
