import { isUtf8 } from 'node:buffer';
import { badModel } from '../bad_model';
import type { ModelFile } from '../model_file';
import { TextList } from './text_list';

/** Bytes that are read at a time. */
const WINDOW = 1 << 20;
/** The largest vocabularies make headers of some 20 MiB. */
const MAX_HEADER_BYTES = 1 << 26;

/** Reads little-endian values from the start of a file in order, a window at a time, and never beyond its end. */
export class HeaderCursor {
  /** Bytes [start, start + window.length) of the file. */
  private window = Buffer.alloc(0);
  private start = 0;
  private at = 0;

  constructor(private readonly file: ModelFile) {}

  /** Offset in the file of what is read next. */
  get position(): number {
    return this.start + this.at;
  }

  /** Bytes from here to the end of the file. */
  get remaining(): number {
    return this.file.size - this.position;
  }

  u8(what: string): number {
    const at = this.take(1, what);
    return this.window.readUInt8(at);
  }

  i8(what: string): number {
    const at = this.take(1, what);
    return this.window.readInt8(at);
  }

  u16(what: string): number {
    const at = this.take(2, what);
    return this.window.readUInt16LE(at);
  }

  i16(what: string): number {
    const at = this.take(2, what);
    return this.window.readInt16LE(at);
  }

  u32(what: string): number {
    const at = this.take(4, what);
    return this.window.readUInt32LE(at);
  }

  i32(what: string): number {
    const at = this.take(4, what);
    return this.window.readInt32LE(at);
  }

  f32(what: string): number {
    const at = this.take(4, what);
    return this.window.readFloatLE(at);
  }

  f64(what: string): number {
    const at = this.take(8, what);
    return this.window.readDoubleLE(at);
  }

  u64(what: string): bigint {
    const at = this.take(8, what);
    return this.window.readBigUInt64LE(at);
  }

  i64(what: string): bigint {
    const at = this.take(8, what);
    return this.window.readBigInt64LE(at);
  }

  /**
   * A count of entries of at least `minBytes` each. A count that the rest of the file cannot hold is refused here,
   * before anything is allocated for it.
   */
  count(what: string, minBytes: number, limit: number): number {
    const count = this.u64(what);
    if (count * BigInt(minBytes) > BigInt(this.remaining)) {
      const problem = `needs at least ${count * BigInt(minBytes)} bytes, file holds ${this.remaining} more`;
      throw this.error(`${what}: got ${count}, which ${problem}`);
    }
    if (count > BigInt(limit)) throw this.error(`${what}: got ${count}, expected at most ${limit}`);
    return Number(count);
  }

  /** A length and as many bytes of UTF-8. */
  string(what: string): string {
    const length = this.u64(what);
    if (length > BigInt(this.remaining)) {
      throw this.error(`${what}: got ${length} bytes, file holds ${this.remaining} more`);
    }
    const size = Number(length);
    const from = this.take(size, what);
    const bytes = this.window.subarray(from, from + size);
    if (!isUtf8(bytes)) throw this.error(`${what}: not UTF-8`);
    return bytes.toString('utf8');
  }

  /** `count` strings. */
  strings(count: number, what: string): TextList {
    const ends = new Int32Array(count);
    let bytes = new Uint8Array(Math.min(16 * count + WINDOW, this.remaining));
    let end = 0;
    for (let i = 0; i < count; i++) {
      const at = this.take(8, what);
      const size = this.window.readUInt32LE(at);
      if (this.window.readUInt32LE(at + 4) > 0 || size > this.remaining) {
        const length = this.window.readBigUInt64LE(at);
        throw this.error(`${what}: got ${length} bytes, file holds ${this.remaining} more`);
      }
      const from = this.take(size, what);
      if (end + size > bytes.length) {
        const grown = new Uint8Array(2 * bytes.length + size);
        grown.set(bytes);
        bytes = grown;
      }
      // Most are a few bytes, for which a view costs more than a loop.
      for (let k = 0; k < size; k++) bytes[end + k] = this.window[from + k] as number;
      if (size > 0 && isContinuation(bytes[end] as number)) {
        throw this.error(`${what}: not UTF-8`);
      }
      end += size;
      ends[i] = end;
    }
    // All begin with a first byte of a character, so that they are UTF-8 if they are it together.
    const texts = bytes.slice(0, end);
    if (!isUtf8(texts)) throw this.error(`${what}: not UTF-8`);
    return new TextList(texts, ends);
  }

  error(problem: string): Error {
    return badModel(this.file.path, problem);
  }

  /** Moves on by `size` bytes; returns where they begin in the window. */
  private take(size: number, what: string): number {
    if (this.at + size > this.window.length) this.refill(size, what);
    const from = this.at;
    this.at += size;
    return from;
  }

  private refill(size: number, what: string): void {
    const { position, remaining } = this;
    if (size > remaining) {
      throw this.error(`truncated at byte ${this.file.size}: ${what} needs ${size} bytes`);
    }
    if (position + size > MAX_HEADER_BYTES) {
      throw this.error(`header too large: expected at most ${MAX_HEADER_BYTES} bytes`);
    }
    const bytes = this.file.read(position, Math.min(Math.max(size, WINDOW), remaining));
    this.window = Buffer.from(bytes.buffer);
    this.start = position;
    this.at = 0;
  }
}

/** A later byte of a character. */
const isContinuation = (byte: number) => (byte & 0xc0) === 0x80;
