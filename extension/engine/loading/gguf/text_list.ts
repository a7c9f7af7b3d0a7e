const FROM_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A list of texts as it stands in a file: one of 150,000 makes no strings but those that are asked for. */
export class TextList {
  /** Text i is bytes [ends[i - 1], ends[i]), UTF-8. */
  constructor(
    readonly bytes: Uint8Array,
    readonly ends: Int32Array,
  ) {}

  get length(): number {
    return this.ends.length;
  }

  /** Where the bytes of text i begin. */
  start(i: number): number {
    return i === 0 ? 0 : (this.ends[i - 1] as number);
  }

  /** Undefined beyond the end. */
  at(i: number): string | undefined {
    const end = this.ends[i];
    return end === undefined
      ? undefined
      : FROM_UTF8.decode(this.bytes.subarray(this.start(i), end));
  }

  /** For messages. */
  toString(): string {
    return `${this.length} strings`;
  }

  toArray(): string[] {
    return Array.from({ length: this.length }, (_, i) => this.at(i) ?? '');
  }
}
