/**
 * A pre-tokenizer's pattern comes with a model and runs on every text, in an engine that backtracks: `(a+)+$` would hang
 * it. Returns why a pattern may take exponential or high polynomial time, or null. The patterns of known models have
 * no unbounded repetition of a group that itself repeats or branches, and at most two repetitions in a row.
 */
export function regexRisk(pattern: string): string | null {
  if (pattern.length > MAX_PATTERN) return `longer than ${MAX_PATTERN} characters`;
  const groups: Group[] = [{ repetitions: 0, longest: 0, branches: false }];
  let closed: Group | null = null; // the group that ended just before this token
  for (const [token] of pattern.matchAll(TOKENS)) {
    const group = groups.at(-1);
    if (group === undefined) return 'unbalanced parentheses';
    const before = closed;
    closed = null;
    if (token.startsWith('(')) groups.push({ repetitions: 0, longest: 0, branches: false });
    else if (token === ')') closed = endGroup(groups);
    else if (token === '|') {
      group.branches = true;
      group.repetitions = 0;
    } else if (UNBOUNDED.test(token)) {
      if (before !== null && (before.longest > 0 || before.branches)) return 'repeats a repetition';
      countRepetitions(group, 1);
      if (group.repetitions > MAX_REPETITIONS)
        return `more than ${MAX_REPETITIONS} repetitions in a row`;
    }
  }
  return groups.length === 1 ? null : 'unbalanced parentheses';
}

interface Group {
  /** Unbounded repetitions in the current alternative, and the most in any. */
  repetitions: number;
  longest: number;
  branches: boolean;
}

const MAX_PATTERN = 4_096;
const MAX_REPETITIONS = 3;
/** Escapes, character classes (one level of nesting), group starts, quantifiers, and the rest. */
const TOKENS =
  /\\[pP]\{[^}]*\}|\\.|\[(?:\\.|\[[^\]]*\]|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!]|[a-z-]+:)|[*+][?+]?|\{\d*,?\d*\}[?+]?|[^]/gsu;
const UNBOUNDED = /^(?:[*+]|\{\d*,\})/;

function endGroup(groups: Group[]): Group | null {
  const group = groups.pop() ?? null;
  const parent = groups.at(-1);
  if (group !== null && parent !== undefined) countRepetitions(parent, group.longest);
  return group;
}

function countRepetitions(group: Group, count: number): void {
  group.repetitions += count;
  group.longest = Math.max(group.longest, group.repetitions);
}
