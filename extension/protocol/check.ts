import { ProtocolError } from './errors';

/** Returns the value with its type, or throws a ProtocolError that names the place, what was expected and what came. */
export type Check<T> = (value: unknown, at: string) => T;

function fail(at: string, expected: string, value: unknown): never {
  const text = JSON.stringify(value) ?? String(value);
  const shown = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  throw new ProtocolError('bad_request', `${at}: expected ${expected}, got ${shown}`);
}

export function text(maxLength: number): Check<string> {
  return (value, at) => {
    if (typeof value !== 'string') fail(at, 'a string', value);
    if (value.length > maxLength) fail(at, `at most ${maxLength} characters`, value.length);
    return value;
  };
}

export function integer(min: number, max: number): Check<number> {
  return (value, at) =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? value
      : fail(at, `an integer from ${min} to ${max}`, value);
}

/** A duration, a size or a rate: finite and not negative. */
export const amount: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? value
    : fail(at, 'a number >= 0', value);

export function number(min: number, max: number): Check<number> {
  return (value, at) =>
    typeof value === 'number' && value >= min && value <= max
      ? value
      : fail(at, `a number from ${min} to ${max}`, value);
}

export const flag: Check<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : fail(at, 'true or false', value);

export function oneOf<T extends string | number>(words: readonly T[]): Check<T> {
  const list = words
    .map((word) => (/^\w+$/.test(String(word)) ? word : JSON.stringify(word)))
    .join(', ');
  return (value, at) => words.find((word) => word === value) ?? fail(at, `one of ${list}`, value);
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, at) => (value === null ? null : check(value, at));
}

export function list<T>(check: Check<T>, maxLength: number): Check<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) fail(at, 'a list', value);
    if (value.length > maxLength) fail(at, `at most ${maxLength} entries`, value.length);
    return value.map((entry, index) => check(entry, `${at}[${index}]`));
  };
}

/** Exactly these keys: both sides are of one version, so an unknown key is an error. */
export function object<T extends object>(fields: {
  readonly [K in keyof T]-?: Check<T[K]>;
}): Check<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      fail(at, 'an object', value);
    }
    const record = value as Record<string, unknown>;
    const unknown = Object.keys(record).find((key) => !Object.hasOwn(fields, key));
    if (unknown !== undefined) fail(at, `the keys ${names.join(', ')}`, unknown);
    const result: Partial<T> = {};
    for (const name of names) result[name] = fields[name](record[name], `${at}.${name}`);
    return result as T;
  };
}

/** A closed union told apart by the field `key`. */
export function union<K extends string, T extends { readonly [P in K]: string }>(
  key: K,
  members: { readonly [V in T[K]]: Check<Extract<T, { readonly [P in K]: V }>> },
): Check<T> {
  const tags = Object.keys(members) as T[K][];
  return (value, at) => {
    const tag = oneOf(tags)(
      (value as Record<string, unknown> | null | undefined)?.[key],
      `${at}.${key}`,
    );
    return members[tag](value, at);
  };
}

export const nothing: Check<null> = (value, at) =>
  value === null || value === undefined ? null : fail(at, 'nothing', value);
