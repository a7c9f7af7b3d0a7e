/** Closed ranges of Unicode code points, ascending, apart from each other; surrogates are never in a set. */
export type CodePoints = readonly (readonly [first: number, last: number])[];

const LAST = 0x10ffff;
const SURROGATES = [0xd800, 0xdfff] as const;

export const ALL: CodePoints = without([[0, LAST]], [SURROGATES]);
/** What a JSON string must write as an escape. */
export const ESCAPED_IN_JSON: CodePoints = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];

/** Any ranges as a set. */
export function codePoints(ranges: Iterable<readonly [first: number, last: number]>): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else if (first <= last) merged.push([first, last]);
  }
  return without(merged, [SURROGATES]);
}

export function without(set: CodePoints, removed: CodePoints): CodePoints {
  let left: (readonly [number, number])[] = [...set];
  for (const [first, last] of removed) {
    left = left.flatMap(([a, b]) =>
      [[a, Math.min(b, first - 1)] as const, [Math.max(a, last + 1), b] as const].filter(
        ([x, y]) => x <= y,
      ),
    );
  }
  return left;
}

export function intersection(a: CodePoints, b: CodePoints): CodePoints {
  return without(a, without(ALL, b));
}
