import type { CodePoints } from './code_points';

/** Bytes in a row, each within a range. */
export type ByteRanges = readonly (readonly [first: number, last: number])[];

/** Last code points of one, two and three bytes. */
const LENGTHS = [0x7f, 0x7ff, 0xffff, 0x10ffff] as const;

/** The UTF-8 encodings of a set, as products of byte ranges (as in Cox, https://swtch.com/~rsc/regexp/regexp3.html). */
export function utf8Ranges(set: CodePoints): ByteRanges[] {
  const all: ByteRanges[] = [];
  for (const [first, last] of set) {
    let from = first;
    for (const [i, end] of LENGTHS.entries()) {
      if (from > last || from > end) continue;
      split(from, Math.min(last, end), i, all);
      from = end + 1;
    }
  }
  return all;
}

/** Code points of `more` + 1 bytes each, cut where the bytes behind the first differing one are not all there are. */
function split(first: number, last: number, more: number, into: ByteRanges[]): void {
  for (let tail = 1; tail <= more; tail++) {
    const mask = (1 << (6 * tail)) - 1;
    if ((first & ~mask) === (last & ~mask)) continue;
    if ((first & mask) !== 0) {
      split(first, first | mask, more, into);
      split((first | mask) + 1, last, more, into);
      return;
    }
    if ((last & mask) !== mask) {
      split(first, (last & ~mask) - 1, more, into);
      split(last & ~mask, last, more, into);
      return;
    }
  }
  const [a, b] = [encode(first, more), encode(last, more)];
  into.push(a.map((byte, i) => [byte, b[i] ?? byte] as const));
}

function encode(code: number, more: number): number[] {
  if (more === 0) return [code];
  const lead = (0xff00 >> (more + 1)) & 0xff; // 110…, 1110…, 11110…
  const bytes = [lead | (code >> (6 * more))];
  for (let tail = more - 1; tail >= 0; tail--) bytes.push(0x80 | ((code >> (6 * tail)) & 0x3f));
  return bytes;
}
