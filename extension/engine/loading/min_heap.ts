/** A binary heap of numbers, smallest first. */
export class MinHeap {
  private keys = new Float64Array(256);
  private count = 0;

  get size(): number {
    return this.count;
  }

  push(key: number): void {
    if (this.count === this.keys.length) {
      const grown = new Float64Array(2 * this.count);
      grown.set(this.keys);
      this.keys = grown;
    }
    const keys = this.keys;
    let hole = this.count++;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = keys[parent] as number;
      if (above <= key) break;
      keys[hole] = above;
      hole = parent;
    }
    keys[hole] = key;
  }

  /** Removes and returns the smallest key; the heap must not be empty. */
  pop(): number {
    const keys = this.keys;
    const smallest = keys[0] as number;
    const last = keys[--this.count] as number;
    let hole = 0;
    for (let child = 1; child < this.count; child = 2 * hole + 1) {
      if (child + 1 < this.count && (keys[child + 1] as number) < (keys[child] as number)) child++;
      const below = keys[child] as number;
      if (below >= last) break;
      keys[hole] = below;
      hole = child;
    }
    keys[hole] = last;
    return smallest;
  }
}
