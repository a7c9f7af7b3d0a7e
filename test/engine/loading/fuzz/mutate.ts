/** Changes to well-formed files, drawn from a seed: values that parsers get wrong, in places where they matter. */

/** Integers in [0, limit) of a seed (mulberry32). */
export class Random {
  constructor(private state: number) {}

  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const NUMBERS = [
  ...[0, 1, -1, 2, 3, 7, 31, 32, 33, 64, 127, 128, 255, 256, 4096, 65_535, 65_536, 1.5, 1e-9],
  ...[2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 63, 2 ** 64, 1e308, -(2 ** 31)],
];
const TEXTS = ['', ' ', 'a', '\0', '__proto__', 'constructor', '../x', '\ud800', '(a+)+$', '▁'];

/** Any JSON value that is not what stood there. */
function strangeValue(random: Random): unknown {
  const values: readonly (() => unknown)[] = [
    () => null,
    () => random.below(2) === 0,
    () => random.pick(NUMBERS),
    () => random.pick(NUMBERS),
    () => random.pick(TEXTS),
    () => 'x'.repeat(random.below(5_000)),
    () => [],
    () => ({}),
    () => Array<number>(random.below(20)).fill(random.pick(NUMBERS)),
    () => nested(random.below(80)),
    () => ({ type: random.pick(TEXTS) }),
  ];
  return random.pick(values)();
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

type Container = Record<string, unknown> | unknown[];
const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null;

/** A copy of a JSON value with one to four changes. */
export function mutateJson(value: unknown, random: Random): unknown {
  const copy: unknown = structuredClone(value);
  for (let i = random.below(4); i >= 0; i--) changeOnce(copy, random);
  return copy;
}

/** Walks down at random; the shallow keys of a file are drawn as often as the deep ones. */
function changeOnce(root: unknown, random: Random): void {
  let at = root;
  while (isContainer(at)) {
    const keys = Object.keys(at);
    if (keys.length === 0) return;
    const key = random.pick(keys);
    const holder = at as Record<string, unknown>;
    if (!isContainer(holder[key]) || random.below(3) === 0) return change(holder, key, random);
    at = holder[key];
  }
}

function change(holder: Record<string, unknown>, key: string, random: Random): void {
  const value = holder[key];
  switch (random.below(8)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case 1:
      if (Array.isArray(holder)) holder.push(value);
      else define(holder, `${key}${random.pick(TEXTS)}`, value);
      return;
    case 2:
      define(holder, key, holder[random.pick(Object.keys(holder))]);
      return;
    case 3:
    case 4:
      if (typeof value === 'number') return define(holder, key, nearby(value, random));
      if (typeof value === 'string') return define(holder, key, otherText(value, random));
      return;
    default:
      define(holder, key, strangeValue(random));
  }
}

/** Like an assignment, but `__proto__` becomes a key of its own, as in JSON. */
function define(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

const nearby = (value: number, random: Random) =>
  random.pick([value + 1, value - 1, -value, value * 2, value / 2, value + 0.5, value * 2 ** 32]);

function otherText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const middle = random.pick([random.pick(TEXTS), text.slice(0, 40), '']);
  return text.slice(0, at) + middle + text.slice(at + random.below(3));
}

/** A copy of bytes with one to four changes, most of them near the start, where headers are. */
export function mutateBytes(bytes: Uint8Array, random: Random): Buffer {
  let out = Buffer.from(bytes);
  for (let i = random.below(4); i >= 0; i--) {
    const end = random.below(2) === 0 ? Math.min(out.length, 64) : out.length;
    const at = random.below(Math.max(end, 1));
    switch (random.below(7)) {
      case 0:
        out = out.subarray(0, at);
        break;
      case 1:
        out = Buffer.concat([out.subarray(0, at), out.subarray(at + 1 + random.below(16))]);
        break;
      case 2: {
        const inserted = Buffer.alloc(1 + random.below(16), random.below(256));
        out = Buffer.concat([out.subarray(0, at), inserted, out.subarray(at)]);
        break;
      }
      case 3:
        if (at + 8 <= out.length) out.writeBigUInt64LE(strangeLong(random), at);
        break;
      case 4:
        if (at + 4 <= out.length) out.writeUInt32LE(random.pick(INTS), at);
        break;
      default:
        if (at < out.length) out[at] = random.pick([0, 1, 7, 8, 9, 127, 255, random.below(256)]);
    }
  }
  return out;
}

const INTS = [0, 1, 2, 4, 8, 9, 10, 12, 32, 99, 0xff, 0x7fffffff, 0x80000000, 0xffffffff];
const LONGS = [0n, 1n, 2n, 33n, 1n << 20n, 1n << 31n, 1n << 40n, 1n << 62n, (1n << 64n) - 1n];

function strangeLong(random: Random): bigint {
  return BigInt.asUintN(64, random.pick(LONGS) + BigInt(random.below(3) - 1));
}
