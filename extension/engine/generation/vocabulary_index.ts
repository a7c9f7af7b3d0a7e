/** The vocabulary sorted by bytes: which tokens begin with given bytes, and which are a beginning of them. */
export class VocabularyIndex {
  private readonly sorted: readonly number[];

  constructor(private readonly tokens: readonly Uint8Array[]) {
    this.sorted = [...tokens.keys()]
      .filter((id) => (tokens[id]?.length ?? 0) > 0)
      .sort((a, b) => compare(this.bytes(a), this.bytes(b)));
  }

  /**
   * Tokens that agree with text that must begin with `bytes`: those that begin with all of it, and those that are a
   * beginning of it (the rest is then required of the next token).
   */
  compatible(bytes: Uint8Array): number[] {
    const ids: number[] = [];
    for (let n = 1; n < bytes.length; n++) {
      const part = bytes.subarray(0, n);
      for (let i = this.lowerBound(part); i < this.sorted.length; i++) {
        const id = this.sorted[i] as number;
        if (compare(this.bytes(id), part) !== 0) break;
        ids.push(id);
      }
    }
    for (let i = this.lowerBound(bytes); i < this.sorted.length; i++) {
      const id = this.sorted[i] as number;
      if (!startsWith(this.bytes(id), bytes)) break;
      ids.push(id);
    }
    return ids;
  }

  private bytes(id: number): Uint8Array {
    return this.tokens[id] ?? EMPTY;
  }

  /** First position in `sorted` whose token is not below `bytes`. */
  private lowerBound(bytes: Uint8Array): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.bytes(this.sorted[middle] as number), bytes) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const EMPTY = new Uint8Array();

function compare(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && prefix.every((byte, i) => bytes[i] === byte);
}
