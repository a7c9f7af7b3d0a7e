import * as z from 'zod';

/** What the documentation says of a field; docs/server.md is written from it. */
export interface FieldInfo {
  readonly type: string;
  /** Bounds, or the allowed values. */
  readonly range: string;
  readonly otherwise: string;
  readonly note: string;
}

/** The one table of all fields: validation and documentation both come from these schemas. */
export const fieldInfo = z.registry<FieldInfo>();

export interface FieldNote {
  readonly note: string;
  /** What holds without the field, in words. */
  readonly otherwise?: string;
}

type Described = z.ZodType;

/** Adds what the documentation says to a schema. */
export function described<S extends Described>(schema: S, info: FieldInfo): S {
  fieldInfo.add(schema, info);
  return schema;
}

/** A field that may be absent; null counts as absent. */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** From `min` to `max`, both included. */
export function decimal(min: number, max: number, { note, otherwise = '' }: FieldNote) {
  return described(optional(z.number().min(min).max(max)), {
    type: 'number',
    range: `${min} to ${max}`,
    otherwise,
    note,
  });
}

/** The words of a bound of integers: zod itself tells a bound of integers like one of any numbers. */
export const INTEGER_BOUND = 'a bound of integers';

/** From `min` to `max`, both included; at most 2^53 - 1. */
export function int(min: number, max = Number.MAX_SAFE_INTEGER) {
  return z.int().min(min, INTEGER_BOUND).max(max, INTEGER_BOUND);
}

export function integer(min: number, max: number, { note, otherwise = '' }: FieldNote) {
  return described(optional(int(min, max)), {
    type: 'integer',
    range: `${shown(min)} to ${shown(max)}`,
    otherwise,
    note,
  });
}

export function flag({ note, otherwise = 'false' }: FieldNote) {
  return described(optional(z.boolean()), {
    type: 'boolean',
    range: 'true, false',
    otherwise,
    note,
  });
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  values: T,
  { note, otherwise = '' }: FieldNote,
) {
  return described(optional(z.enum(values)), {
    type: 'string',
    range: values.join(', '),
    otherwise,
    note,
  });
}

export function text(max: number, { note, otherwise = '' }: FieldNote) {
  return described(optional(z.string().max(max)), {
    type: 'string',
    range: `at most ${shown(max)} characters`,
    otherwise,
    note,
  });
}

/** Known to clients, and refused rather than ignored: the answer would not be what they asked for. */
export function refused(note: string) {
  const schema = z
    .unknown()
    .optional()
    .superRefine((value, context) => {
      if (value === undefined || value === null) return;
      context.addIssue({
        code: 'custom',
        message: note,
        params: { code: 'unsupported_parameter' },
      });
    });
  return described(schema, { type: 'any', range: 'refused', otherwise: '', note });
}

type Kind = 'string' | 'number' | 'array' | 'object';

/** A value that may be of several kinds: each kind has its own schema, whose errors are told as they are. */
export function byKind<M extends Partial<Record<Kind, z.ZodType>>>(kinds: M) {
  type Output = z.output<Exclude<M[keyof M], undefined>>;
  return z.unknown().transform((value, context): Output => {
    const schema = kinds[kindOf(value) as Kind];
    if (schema === undefined) {
      const expected = Object.keys(kinds).join(' or ');
      context.issues.push({
        code: 'custom',
        input: value,
        message: `expected ${expected}`,
        params: { code: 'invalid_type' },
      });
      return z.NEVER;
    }
    const result = schema.safeParse(value);
    if (result.success) return result.data as Output;
    passOn(result.error, value, context);
    return z.NEVER;
  });
}

/** Tells the errors of a schema that was applied to the value as the value's own. */
export function passOn(
  { issues }: z.ZodError,
  input: unknown,
  context: z.core.$RefinementCtx,
): void {
  for (const found of issues) {
    context.issues.push({ ...found, input, path: [...found.path] } as z.core.$ZodRawIssue);
  }
}

/** A schema's own objection, with an error code of ours. */
export function issue(code: string, message: string) {
  return { code: 'custom' as const, message, params: { code } };
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

function shown(value: number): string {
  return value === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : String(value);
}
