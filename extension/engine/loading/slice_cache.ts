/** Characters of all slices: those of one request, with what was said before it. */
const MAX_CHARS = 8 * 2 ** 20;

/** Token ids of the slices of recent long texts: a conversation brings its attachments with every question. */
export class SliceCache {
  /** The least recently used first. */
  private readonly slices = new Map<string, Uint32Array>();
  private chars = 0;

  get(slice: string, encode: (slice: string) => readonly number[]): Uint32Array {
    const known = this.slices.get(slice);
    const ids = known ?? Uint32Array.from(encode(slice));
    if (known) this.slices.delete(slice);
    else this.chars += slice.length;
    this.slices.set(slice, ids);
    for (const [oldest] of this.slices) {
      if (this.chars <= MAX_CHARS) break;
      this.slices.delete(oldest);
      this.chars -= oldest.length;
    }
    return ids;
  }
}
