import { badModel, quote, unsupportedModel } from './bad_model';
import { INERT_KEYS } from './inert_keys';
import { isJsonObject, type JsonObject } from './json_file';

export interface Range {
  readonly min: number;
  readonly max: number;
}

/**
 * Typed access to a JSON object of a model, which remembers what was read. After a family has read its keys,
 * `assertAllRead` rejects the rest: a key that nobody knows may change the mathematics.
 */
export class ConfigReader {
  private readonly seen = new Set<string>();
  private readonly children: ConfigReader[] = [];

  constructor(
    readonly file: string,
    readonly values: JsonObject,
    /** Key path of this object in the file, such as `rope_parameters.`. */
    private readonly prefix = '',
  ) {}

  /** True for a key that is present and not null. */
  has(key: string): boolean {
    return Object.hasOwn(this.values, key) && this.values[key] !== null;
  }

  /** True for a key that is present, null included, where null does not mean the default. */
  isGiven(key: string): boolean {
    return Object.hasOwn(this.values, key);
  }

  /** An integer in [min, max]; required when there is no fallback. */
  int(key: string, range: Range, fallback?: number): number {
    const value = this.number(key, range, fallback);
    if (!Number.isSafeInteger(value)) throw this.wrong(key, 'an integer');
    return value;
  }

  /** A finite number in [min, max]; required when there is no fallback. */
  float(key: string, range: Range, fallback?: number): number {
    return this.number(key, range, fallback);
  }

  bool(key: string, fallback?: boolean): boolean {
    const value = this.value(key) ?? fallback;
    if (typeof value !== 'boolean') throw this.wrong(key, 'true or false');
    return value;
  }

  string(key: string, fallback?: string): string {
    const value = this.value(key) ?? fallback;
    if (typeof value !== 'string') throw this.wrong(key, 'a string');
    return value;
  }

  /** One of `allowed`; any other string is EngineError unsupported and lists them. */
  oneOf<T extends string>(key: string, allowed: readonly T[], fallback?: T): T {
    const value = this.string(key, fallback);
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) {
      throw unsupportedModel(
        this.file,
        `${this.prefix}${key} ${quote(value)} not supported: ${listOf(allowed)}`,
      );
    }
    return found;
  }

  optionalInt(key: string, range: Range): number | null {
    return this.present(key) ? this.int(key, range) : null;
  }

  optionalFloat(key: string, range: Range): number | null {
    return this.present(key) ? this.float(key, range) : null;
  }

  /** An array whose elements are all of `allowed`, such as layer_types; null when absent. */
  optionalList<T extends string>(key: string, allowed: readonly T[]): readonly T[] | null {
    if (!this.present(key)) return null;
    const list = this.value(key);
    if (!Array.isArray(list)) throw this.wrong(key, 'an array');
    return list.map((value: unknown, i) => {
      const found = allowed.find((candidate) => candidate === value);
      if (found !== undefined) return found;
      const at = `${this.prefix}${key}[${i}]`;
      throw unsupportedModel(this.file, `${at} ${quote(value)} not supported: ${listOf(allowed)}`);
    });
  }

  /** An array of integers in [min, max]; null when absent. */
  optionalInts(key: string, range: Range): readonly number[] | null {
    if (!this.present(key)) return null;
    const list = this.value(key);
    const isValid =
      Array.isArray(list) &&
      list.every((v) => Number.isSafeInteger(v) && inRange(v as number, range));
    if (!isValid) throw this.wrong(key, `an array of integers from ${range.min} to ${range.max}`);
    return list as number[];
  }

  /** An array of finite numbers in [min, max]; required. */
  floats(key: string, range: Range): readonly number[] {
    const list = this.value(key);
    const isValid =
      Array.isArray(list) && list.every((v) => Number.isFinite(v) && inRange(v as number, range));
    if (!isValid) throw this.wrong(key, `an array of numbers from ${range.min} to ${range.max}`);
    return list as number[];
  }

  /**
   * A nested object, tracked like this one; null when absent. It takes the keys of `inherited` that it lacks from this
   * one.
   */
  optionalObject(key: string, inherited: readonly string[] = []): ConfigReader | null {
    if (!this.present(key)) return null;
    const value = this.value(key);
    if (!isJsonObject(value)) throw this.wrong(key, 'an object');
    const outer = inherited.filter((k) => this.present(k)).map((k) => [k, this.values[k]]);
    const values = { ...(Object.fromEntries(outer) as JsonObject), ...value };
    const child = new ConfigReader(this.file, values, `${this.prefix}${key}.`);
    this.children.push(child);
    return child;
  }

  /** Marks keys that this family knows to have no effect on what it computes. */
  ignore(...keys: string[]): void {
    for (const key of keys) this.seen.add(key);
  }

  /** Marks all keys that were not read; for an object of which one part alone is used. */
  ignoreRest(): void {
    this.ignore(...Object.keys(this.values));
  }

  /** EngineError bad_model `<file>: <problem>`, for checks across keys. */
  error(problem: string): Error {
    return badModel(this.file, `${this.prefix}${problem}`);
  }

  /** Throws EngineError unsupported for a key that was not read, unless it is known, or off, to have no effect. */
  assertAllRead(): void {
    for (const child of this.children) child.assertAllRead();
    for (const [key, value] of Object.entries(this.values)) {
      if (this.seen.has(key) || INERT_KEYS.has(key) || key.startsWith('_')) continue;
      if (isOff(value) || (key === 'layer_types' && isPlain(value))) continue;
      const problem = `unknown key: it may change what the model computes`;
      throw unsupportedModel(this.file, `${this.prefix}${key} ${quote(value)}: ${problem}`);
    }
  }

  private present(key: string): boolean {
    this.seen.add(key);
    return this.has(key);
  }

  /** The value of a key, undefined for one that is absent or null. */
  private value(key: string): unknown {
    return this.present(key) ? this.values[key] : undefined;
  }

  private number(key: string, range: Range, fallback?: number): number {
    const value = this.value(key) ?? fallback;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.wrong(key, 'a number');
    if (value > range.max) throw this.error(`${key} ${value} above limit ${range.max}`);
    if (value < range.min) throw this.error(`${key} ${value} below limit ${range.min}`);
    return value;
  }

  private wrong(key: string, expected: string): Error {
    if (!Object.hasOwn(this.values, key))
      return this.error(`${key}: missing, expected ${expected}`);
    return this.error(`${key}: got ${quote(this.values[key])}, expected ${expected}`);
  }
}

/** A feature that is switched off needs no support. */
function isOff(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0);
}

/** The layers of a family that has one kind only. */
function isPlain(value: unknown): boolean {
  return Array.isArray(value) && value.every((type) => type === 'full_attention');
}

function inRange(value: number, range: Range): boolean {
  return value >= range.min && value <= range.max;
}

function listOf(allowed: readonly string[]): string {
  return `expected ${allowed.join(', ')}`;
}
