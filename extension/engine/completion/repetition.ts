/** A line this often in a row is a loop of the model, not code that somebody writes. */
const SAME_LINES = 3;
/** A loop may also turn in a group of lines. */
const MAX_PERIOD = 4;
/** Lines without words, such as `}`, repeat in good code. */
const HAS_WORD = /[\p{L}\p{N}]{2}/u;
/** A group of lines that the suggestion itself has twice is a loop already, when one of them has this much to say. */
const TELLING_LENGTH = 10;
/** Inside a line: a unit repeated this often, with this many characters in all. */
const SAME_UNITS = 6;
const MIN_LOOP_CHARS = 36;

/**
 * The number of lines to drop from the end of `lines` when they end in a loop: a group of 1 to 4 lines, three times, of
 * which the first time may stand above the cursor; or a group of several lines twice. One turn of the loop stays.
 * 0 = no loop. All lines trimmed.
 */
export function loopingLines(lines: readonly string[], above: readonly string[]): number {
  for (let period = 1; period <= MAX_PERIOD; period++) {
    const group = lines.slice(-period);
    if (group.length < period || !group.some((line) => HAS_WORD.test(line))) continue;
    if (turns([...above.slice(-period), ...lines], period, SAME_LINES)) {
      return period * (SAME_LINES - 1);
    }
    const tells = group.some(({ length }) => length >= TELLING_LENGTH);
    if (period > 1 && tells && turns(lines, period, 2)) return period;
  }
  return 0;
}

/** True when the lines end in the same group so many times. */
function turns(lines: readonly string[], period: number, count: number): boolean {
  const last = lines.slice(-period * count);
  const group = lines.slice(-period);
  return last.length === period * count && last.every((line, i) => line === group[i % period]);
}

/** The index in `line` where a loop inside the line takes its second turn, or -1. */
export function loopInLine(line: string): number {
  const longest = Math.floor(line.length / SAME_UNITS);
  for (let unit = 1; unit <= longest; unit++) {
    const turns = Math.max(SAME_UNITS, Math.ceil(MIN_LOOP_CHARS / unit));
    const start = line.length - unit * turns;
    if (start < 0) continue;
    const group = line.slice(-unit);
    if (!HAS_WORD.test(group + group)) continue;
    let first = start;
    if (!repeats(line, first, unit)) continue;
    while (first > 0 && line[first - 1] === line[first - 1 + unit]) first--;
    return first + unit;
  }
  return -1;
}

function repeats(line: string, from: number, unit: number): boolean {
  for (let i = from + unit; i < line.length; i++) if (line[i] !== line[i - unit]) return false;
  return true;
}
