/** Thrown where a file is not as plain as most are; an ordinary reader then says what is wrong, if anything is. */
export class NotPlain extends Error {}

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const ZERO = 0x30;
const MAX_DIGITS = 7;
const HEX = /^[0-9a-fA-F]{4}$/;
/** What stands for itself or for a control character after a backslash. */
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({
    '"': '"',
    '\\': '\\',
    '/': '/',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
  }).map(([name, char]) => [name.charCodeAt(0), char.charCodeAt(0)]),
);
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Walks through UTF-8 JSON without making strings or objects of it. */
export class JsonBytes {
  position = 0;

  constructor(readonly bytes: Uint8Array) {}

  /** The next byte that is no blank; NaN at the end. */
  peek(): number {
    for (;;) {
      const byte = this.bytes[this.position] ?? NaN;
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.position++;
    }
  }

  expect(char: string): void {
    if (this.peek() !== char.charCodeAt(0)) throw new NotPlain();
    this.position++;
  }

  /** Calls `item` at each item of a list or object until it is closed. */
  items(open: string, close: string, item: () => void): void {
    this.expect(open);
    const end = close.charCodeAt(0);
    if (this.peek() !== end) {
      for (item(); this.peek() === COMMA; item()) this.position++;
    }
    this.expect(close);
  }

  /** Writes a string's UTF-8 to `target` from `at` on; returns where it ends there. */
  string(target: Uint8Array, at: number): number {
    this.expect('"');
    const { bytes } = this;
    for (let i = this.position; ; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE) {
        this.position = i + 1;
        return at;
      }
      if (byte < SPACE || at + 4 > target.length) throw new NotPlain();
      if (byte === BACKSLASH) {
        this.position = i + 1;
        at = this.escape(target, at);
        i = this.position - 1;
      } else target[at++] = byte;
    }
  }

  /** A small natural number. */
  integer(): number {
    this.peek();
    let value = 0;
    let digits = 0;
    for (; digits <= MAX_DIGITS; digits++, this.position++) {
      const digit = (this.bytes[this.position] ?? 0) - ZERO;
      if (!(digit >= 0 && digit <= 9)) break;
      if (digits > 0 && value === 0) throw new NotPlain(); // JSON has no leading zeros
      value = 10 * value + digit;
    }
    if (digits === 0 || digits > MAX_DIGITS) throw new NotPlain();
    return value;
  }

  /** Passes over a value, whatever it is. */
  skip(): void {
    const first = this.peek();
    if (first === QUOTE) this.skipString();
    else if (OPENING.has(first)) this.skipNested();
    else this.skipWord();
  }

  private skipNested(): void {
    let depth = 0;
    do {
      const byte = this.peek();
      if (Number.isNaN(byte)) throw new NotPlain();
      if (byte === QUOTE) {
        this.skipString();
        continue;
      }
      if (OPENING.has(byte)) depth++;
      else if (CLOSING.has(byte)) depth--;
      this.position++;
    } while (depth > 0);
  }

  private skipString(): void {
    let end = this.position + 1;
    while (this.bytes[end] !== QUOTE) {
      if (end >= this.bytes.length) throw new NotPlain();
      end += this.bytes[end] === BACKSLASH ? 2 : 1;
    }
    this.position = end + 1;
  }

  /** A number, or true, false or null. */
  private skipWord(): void {
    for (;;) {
      const byte = this.bytes[this.position] ?? COMMA;
      if (byte <= SPACE || byte === COMMA || CLOSING.has(byte)) return;
      this.position++;
    }
  }

  private escape(target: Uint8Array, at: number): number {
    const name = this.bytes[this.position++] ?? 0;
    const simple = ESCAPES.get(name);
    if (simple !== undefined) {
      target[at] = simple;
      return at + 1;
    }
    if (name !== 0x75) throw new NotPlain();
    const { bytes, position } = this;
    const hex = String.fromCharCode(...bytes.subarray(position, position + 4));
    const code = Number.parseInt(hex, 16);
    // Characters beyond the first plane are written as two; those are rare.
    if (!HEX.test(hex) || (code >= 0xd800 && code < 0xe000)) throw new NotPlain();
    this.position += 4;
    return (
      at + new TextEncoder().encodeInto(String.fromCharCode(code), target.subarray(at)).written
    );
  }
}
