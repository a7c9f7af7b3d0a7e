import type * as z from 'zod';
import { INTEGER_BOUND } from './field';
import { ApiError, badRequest, type ApiErrorCode } from '../errors';

type Issue = z.core.$ZodIssue;

/** The fields of a body that a schema knows, checked; unknown ones are left out. Throws an ApiError that names one. */
export function parseFields<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError(400, 'invalid_type', 'the body: expected an object');
  }
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue === undefined) throw new ApiError(400, 'invalid_value', 'the body is not valid');
  throw describe(issue, valueAt(body, issue.path));
}

function describe(issue: Issue, value: unknown): ApiError {
  const param = pathText(issue.path);
  const { code, expected } = explain(issue, value);
  if (code === 'missing_required_parameter') {
    return badRequest(code, param, `missing required parameter ${param}`);
  }
  return badRequest(code, param, `${param}: ${expected}, got ${shown(value)}`);
}

interface Explanation {
  readonly code: ApiErrorCode;
  readonly expected: string;
}

function explain(issue: Issue, value: unknown): Explanation {
  switch (issue.code) {
    case 'invalid_type':
      return ofType(issue.expected, value);
    case 'too_small':
      return bound(originOf(issue), 'below', Number(issue.minimum), issue.inclusive !== false);
    case 'too_big':
      return bound(originOf(issue), 'above', Number(issue.maximum), issue.inclusive !== false);
    case 'invalid_value': {
      const words = issue.values.map((word) => JSON.stringify(word)).join(', ');
      return missingOr(value, { code: 'invalid_value', expected: `expected one of ${words}` });
    }
    case 'invalid_union':
      return missingOr(value, {
        code: typeof value === 'string' ? 'invalid_value' : 'invalid_type',
        expected: 'not one of the known values',
      });
    case 'custom': {
      const code = issue.params?.['code'] as ApiErrorCode | undefined;
      return missingOr(value, { code: code ?? 'invalid_value', expected: issue.message });
    }
    default:
      return { code: 'invalid_value', expected: issue.message };
  }
}

/** What is not there at all is missing, whatever the check that noticed. */
function missingOr(value: unknown, otherwise: Explanation): Explanation {
  return value === undefined ? { code: 'missing_required_parameter', expected: '' } : otherwise;
}

function ofType(expected: string, value: unknown): Explanation {
  const name =
    expected === 'int'
      ? 'an integer'
      : /^[aeiou]/.test(expected)
        ? `an ${expected}`
        : `a ${expected}`;
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { code: 'invalid_value', expected: 'expected a finite number' };
  }
  return missingOr(value, { code: 'invalid_type', expected: `expected ${name}` });
}

function originOf({ origin, message }: { origin: string; message: string }): string {
  return message === INTEGER_BOUND ? 'int' : origin;
}

function bound(
  origin: string,
  side: 'below' | 'above',
  limit: number,
  inclusive: boolean,
): Explanation {
  const most = side === 'below' ? 'at least' : 'at most';
  if (origin === 'array') {
    const code = side === 'above' ? 'array_above_max_length' : 'empty_array';
    return { code, expected: `expected ${most} ${limit} items` };
  }
  if (origin === 'string') {
    const code = side === 'above' ? 'string_above_max_length' : 'empty_string';
    return { code, expected: `expected ${most} ${limit} characters` };
  }
  const kind = origin === 'int' ? 'integer' : 'decimal';
  const edge = side === 'below' ? ('below_min' as const) : ('above_max' as const);
  const comparison = inclusive ? most : side === 'below' ? 'more than' : 'less than';
  return { code: `${kind}_${edge}_value`, expected: `expected ${comparison} ${limit}` };
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  let value = body;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** As OpenAI writes it: `messages[0].content`. */
function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}

/** Short values as they are; of long ones, which may be private, the kind and the length. */
function shown(value: unknown): string {
  if (typeof value === 'string') {
    return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
