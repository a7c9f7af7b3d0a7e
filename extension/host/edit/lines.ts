/** Two versions of some lines: what they have in common, and the places where they differ. */

/** Lines [start, end) of the old version stand against lines [newStart, newEnd) of the new one. */
export interface Hunk {
  readonly start: number;
  readonly end: number;
  readonly newStart: number;
  readonly newEnd: number;
}

/** More lines than this on both sides are compared as one hunk: the table would have millions of fields. */
const MAX_FIELDS = 4_000_000;

/** Longest common subsequence of lines, by the table of all prefixes; equal ends are left out of the table. */
export function hunks(old: readonly string[], next: readonly string[]): Hunk[] {
  let head = 0;
  while (head < old.length && head < next.length && old[head] === next[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < next.length - head &&
    old[old.length - 1 - tail] === next[next.length - 1 - tail]
  ) {
    tail++;
  }
  const a = old.slice(head, old.length - tail);
  const b = next.slice(head, next.length - tail);
  if (a.length === 0 && b.length === 0) return [];
  const whole = { start: head, end: head + a.length, newStart: head, newEnd: head + b.length };
  if (a.length * b.length > MAX_FIELDS) return [whole];
  return walk(a, b, suffixTable(a, b)).map(({ start, end, newStart, newEnd }) => ({
    start: start + head,
    end: end + head,
    newStart: newStart + head,
    newEnd: newEnd + head,
  }));
}

/**
 * While `next` is being written: its lines so far, and those of the old version that it has not come to, so that what
 * is not written yet does not look deleted.
 */
export function unfinished(old: readonly string[], next: readonly string[]): string[] {
  if (next.length * old.length > MAX_FIELDS) return [...next, ...old.slice(next.length)];
  // lengths[j]: of the longest common subsequence of `next` and the first j lines of the old version.
  let lengths = new Uint32Array(old.length + 1);
  let lastShared = 0;
  for (const [index, line] of next.entries()) {
    const row = new Uint32Array(old.length + 1);
    for (let j = 1; j <= old.length; j++) {
      row[j] =
        old[j - 1] === line
          ? (lengths[j - 1] ?? 0) + 1
          : Math.max(lengths[j] ?? 0, row[j - 1] ?? 0);
    }
    if ((row[old.length] ?? 0) > (lengths[old.length] ?? 0)) lastShared = index + 1;
    lengths = row;
  }
  // Lines after the last shared one stand for as many of the old version.
  const reached = lengths.indexOf(lengths[old.length] ?? 0) + next.length - lastShared;
  return [...next, ...old.slice(reached)];
}

/** table[i * (b.length + 1) + j]: length of the common subsequence of a from i and b from j. */
function suffixTable(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  return table;
}

function walk(a: readonly string[], b: readonly string[], table: Uint32Array): Hunk[] {
  const width = b.length + 1;
  const found: Hunk[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [start, newStart] = [i, j];
    while ((i < a.length || j < b.length) && (i >= a.length || j >= b.length || a[i] !== b[j])) {
      const down = i < a.length ? (table[(i + 1) * width + j] ?? 0) : -1;
      const right = j < b.length ? (table[i * width + j + 1] ?? 0) : -1;
      if (down >= right) i++;
      else j++;
    }
    if (i > start || j > newStart) found.push({ start, end: i, newStart, newEnd: j });
    while (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    }
  }
  return found;
}
