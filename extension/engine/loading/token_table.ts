const UTF8 = new TextEncoder();
const FROM_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });
/** Bytes of the longest text that is looked up; see MAX_TOKEN_LENGTH. */
const MAX_BYTES = 3 * 2_048;
const FREE = -1;
/** A slot is an id with the first bits of its text's hash above it, so that few other texts are looked at. */
const ID_BITS = 22;
const ID_MASK = (1 << ID_BITS) - 1;
export const MAX_TABLE_ID = ID_MASK - 1;

/** What a table consists of, to be kept and made a table again. */
export interface TokenArrays {
  readonly bytes: Uint8Array;
  /** [length, 2]: where the bytes of a token begin and end; FREE where an id is not used. */
  readonly spans: Int32Array;
  /** An open-addressing hash of texts, small enough for a processor's cache. */
  readonly slots: Int32Array;
}

/**
 * Tokens by text and by id. They stay UTF-8 in one buffer: a vocabulary of 150,000 makes no strings but those that are
 * asked for, and is looked up by bytes as they stand in the file.
 */
export class TokenTable {
  /** One more than the highest id. */
  readonly length: number;
  private readonly bytes: Uint8Array;
  private readonly spans: Int32Array;
  private readonly slots: Int32Array;
  private readonly mask: number;
  private readonly scratch = new Uint8Array(MAX_BYTES);

  private constructor({ bytes, spans, slots }: TokenArrays) {
    this.bytes = bytes;
    this.spans = spans;
    this.slots = slots;
    this.length = spans.length / 2;
    this.mask = slots.length - 1;
  }

  /**
   * Token i of `count` is bytes [ends[i - 1], ends[i]) with id ids[i], at most MAX_TABLE_ID. Throws RangeError when two
   * have one id or one text.
   */
  static build(bytes: Uint8Array, count: number, ends: Int32Array, ids: Int32Array): TokenTable {
    const length = ids.subarray(0, count).reduce((most, id) => Math.max(most, id + 1), 0);
    const table = new TokenTable({
      bytes,
      spans: new Int32Array(2 * length).fill(FREE),
      slots: new Int32Array(1 << (32 - Math.clz32(1.5 * count + 1))).fill(FREE),
    });
    let start = 0;
    for (let i = 0; i < count; i++) {
      const end = ends[i] as number;
      table.add(ids[i] as number, start, end);
      start = end;
    }
    return table;
  }

  /** The table that `arrays` gave them. */
  static of(arrays: TokenArrays): TokenTable {
    return new TokenTable(arrays);
  }

  arrays(): TokenArrays {
    return { bytes: this.bytes, spans: this.spans, slots: this.slots };
  }

  /** The id of a text. */
  get(text: string): number | undefined {
    const { read, written } = UTF8.encodeInto(text, this.scratch);
    const id = read === text.length ? this.find(this.scratch, 0, written) : FREE;
    return id === FREE ? undefined : id;
  }

  /** The text of an id; undefined where an id is not used. */
  at(id: number): string | undefined {
    const start = this.spans[2 * id] ?? FREE;
    if (start === FREE) return undefined;
    return FROM_UTF8.decode(this.bytes.subarray(start, this.spans[2 * id + 1]));
  }

  /** The id of the text in bytes [start, end), or -1. `guess`: an id that it may well have. */
  find(bytes: Uint8Array, start: number, end: number, guess = FREE): number {
    if (guess !== FREE && guess < this.length && this.isEqual(guess, bytes, start, end))
      return guess;
    const slot = this.slots[this.probe(bytes, start, end, hashOf(bytes, start, end))] as number;
    return slot === FREE ? FREE : slot & ID_MASK;
  }

  /** The id of two tokens' texts one after the other, or -1. */
  findJoined(left: number, right: number): number {
    let length = 0;
    for (const id of [left, right]) {
      const start = this.spans[2 * id] ?? FREE;
      if (start === FREE) return FREE;
      const end = this.spans[2 * id + 1] as number;
      if (length + end - start > MAX_BYTES) return FREE;
      for (let i = start; i < end; i++) this.scratch[length++] = this.bytes[i] as number;
    }
    return this.find(this.scratch, 0, length);
  }

  private add(id: number, start: number, end: number): void {
    const hash = hashOf(this.bytes, start, end);
    const slot = this.probe(this.bytes, start, end, hash);
    if (this.slots[slot] !== FREE || this.spans[2 * id] !== FREE) {
      throw new RangeError(`token id ${id}: it or its text is there already`);
    }
    this.slots[slot] = (hash & ~ID_MASK) | id;
    this.spans[2 * id] = start;
    this.spans[2 * id + 1] = end;
  }

  /** The slot that has the text, or the free one where it belongs. */
  private probe(bytes: Uint8Array, start: number, end: number, hash: number): number {
    for (let slot = hash & this.mask; ; slot = (slot + 1) & this.mask) {
      const entry = this.slots[slot] as number;
      if (entry === FREE) return slot;
      const isLike = (entry & ~ID_MASK) === (hash & ~ID_MASK);
      if (isLike && this.isEqual(entry & ID_MASK, bytes, start, end)) return slot;
    }
  }

  private isEqual(id: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.spans[2 * id] as number;
    if ((this.spans[2 * id + 1] as number) - from !== end - start) return false;
    for (let i = start; i < end; i++) if (bytes[i] !== this.bytes[from + i - start]) return false;
    return true;
  }
}

/** FNV-1a, its high bits mixed into the low ones. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  return hash ^ (hash >>> 15);
}
