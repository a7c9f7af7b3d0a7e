import {
  EMPTY,
  either,
  type Expression,
  oneOf,
  optional,
  repeated,
  sequence,
  text,
} from './expression';

/** Digits of a whole number that has no bound, so that a number ends. */
const MAX_DIGITS = 18;
const MAX_FRACTION_DIGITS = 17;
const ZERO = 0x30;

const digits = (first: number, last: number) => oneOf([[ZERO + first, ZERO + last]]);
const anyDigits = (least: number, most: number) => repeated(digits(0, 9), least, most);

/** At least one bound may be infinite; both whole. Null when no number is within. */
export function integerBetween(min: number, max: number): Expression | null {
  const parts = signed(min, max, (low, high) => naturalBetween(low, high));
  return parts.length === 0 ? null : either(parts);
}

/** Numbers between whole bounds, with a fraction where there is room for one. */
export function numberBetween(min: number, max: number): Expression | null {
  const fraction = sequence(text('.'), anyDigits(1, MAX_FRACTION_DIGITS));
  const parts = signed(min, max, (low, high) => {
    const whole = naturalBetween(low, high);
    const below = naturalBetween(low, high - 1);
    return below === null ? whole : either([sequence(below, optional(fraction)), whole ?? below]);
  });
  return parts.length === 0 ? null : either(parts);
}

/** JSON's numbers, the exponent short. */
export function anyNumber(): Expression {
  const sign = optional(either([text('+'), text('-')]));
  const exponent = sequence(either([text('e'), text('E')]), sign, anyDigits(1, 2));
  const fraction = sequence(text('.'), anyDigits(1, MAX_FRACTION_DIGITS));
  return sequence(
    optional(text('-')),
    naturalBetween(0, Infinity) ?? EMPTY,
    optional(fraction),
    optional(exponent),
  );
}

/** The parts below and from zero, by the magnitudes that they have. */
function signed(
  min: number,
  max: number,
  natural: (low: number, high: number) => Expression | null,
): Expression[] {
  const positive = max >= 0 ? natural(Math.max(min, 0), max) : null;
  const negative = min < 0 ? natural(Math.max(1, -max), -min) : null;
  // Between -1 and 0 there are fractions only; they are left out.
  return [positive, negative && sequence(text('-'), negative)].filter((part) => part !== null);
}

/** Whole numbers from low to high, 0 <= low, without leading zeros; null when there are none. */
function naturalBetween(low: number, high: number): Expression | null {
  if (low > high) return null;
  const first = String(low);
  const longest = high === Infinity ? Math.max(MAX_DIGITS, first.length) : String(high).length;
  const parts: Expression[] = [];
  for (let length = first.length; length <= longest; length++) {
    const from = length === first.length ? first : `1${'0'.repeat(length - 1)}`;
    const to = high !== Infinity && length === longest ? String(high) : '9'.repeat(length);
    parts.push(...sameLength(from, to));
  }
  return either(parts);
}

/** Numbers of equally many digits, from <= to. */
function sameLength(from: string, to: string): Expression[] {
  const head = Number(from.charAt(0));
  const last = Number(to.charAt(0));
  const rest = from.length - 1;
  if (rest === 0) return [digits(head, last)];
  const isWhole = /^0*$/.test(from.slice(1)) && /^9*$/.test(to.slice(1));
  if (isWhole) return [sequence(digits(head, last), anyDigits(rest, rest))];
  const lead = (digit: number, tails: readonly Expression[]) =>
    sequence(digits(digit, digit), tails.length === 0 ? EMPTY : either(tails));
  if (head === last) return [lead(head, sameLength(from.slice(1), to.slice(1)))];
  const parts = [lead(head, sameLength(from.slice(1), '9'.repeat(rest)))];
  if (head + 1 < last) parts.push(sequence(digits(head + 1, last - 1), anyDigits(rest, rest)));
  parts.push(lead(last, sameLength('0'.repeat(rest), to.slice(1))));
  return parts;
}
