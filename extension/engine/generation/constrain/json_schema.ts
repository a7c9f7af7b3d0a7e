import { EngineError } from '../../errors';
import { isJsonObject, type JsonObject } from '../../loading/json_file';
import { MAX_COUNT, MAX_SCHEMA_CHARS, MAX_SCHEMA_DEPTH } from './limits';
import { STRING_FORMATS } from './string_formats';

const ANNOTATIONS = ['title', 'description', 'default', 'examples', 'deprecated', '$comment'];
/** At the root only; they do not change what is valid. */
const ROOT = ['$schema', '$id', '$defs', 'definitions'];
const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  boolean: [],
  null: [],
};
const FORMATS = Object.keys(STRING_FORMATS);
/** Each says it all: beside them, other assertions would be ignored. */
const ALONE = ['$ref', 'anyOf', 'enum', 'const'];
const LENGTHS = ['minLength', 'maxLength'];

/**
 * Throws EngineError bad_request, with the place in the schema, unless every word of it is enforced: with a keyword that
 * is ignored the answer would not be what was asked for.
 */
export function checkSchema(schema: unknown): void {
  const { length } = JSON.stringify(schema ?? null);
  if (length > MAX_SCHEMA_CHARS) {
    throw wrong('#', `got ${length} characters, expected at most ${MAX_SCHEMA_CHARS}`);
  }
  check(schema, '#', schema, 0);
}

function check(schema: unknown, at: string, root: unknown, depth: number): void {
  if (schema === true) return;
  if (!isJsonObject(schema)) throw wrong(at, 'expected an object or true');
  if (depth > MAX_SCHEMA_DEPTH) throw wrong(at, `nested deeper than ${MAX_SCHEMA_DEPTH}`);
  const inner = (value: unknown, path: string) => check(value, `${at}/${path}`, root, depth + 1);
  const keys = Object.keys(schema).filter((key) => !ANNOTATIONS.includes(key));
  const assertions = at === '#' ? keys.filter((key) => !ROOT.includes(key)) : keys;
  const alone = ALONE.find((key) => assertions.includes(key));
  if (alone === undefined) checkTypes(schema, assertions, at);
  else checkAlone(schema, alone, assertions, at, root);

  for (const key of ['$defs', 'definitions', 'properties']) {
    const map = schema[key];
    if (map === undefined || (key !== 'properties' && at !== '#')) continue;
    if (!isJsonObject(map)) throw wrong(`${at}/${key}`, 'expected an object');
    for (const [name, value] of Object.entries(map)) inner(value, `${key}/${name}`);
  }
  for (const key of ['anyOf', 'prefixItems']) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length === 0) throw wrong(`${at}/${key}`, 'expected schemas');
    for (const [i, value] of (list as unknown[]).entries()) inner(value, `${key}/${i}`);
  }
  for (const key of ['items', 'additionalProperties']) {
    const value = schema[key];
    if (value !== undefined && value !== false) inner(value, key);
  }
}

function checkAlone(
  schema: JsonObject,
  key: string,
  assertions: readonly string[],
  at: string,
  root: unknown,
): void {
  const isValue = key === 'enum' || key === 'const';
  const other = assertions.find((name) => name !== key && !(isValue && name === 'type'));
  if (other !== undefined) throw wrong(`${at}/${other}`, `not supported beside ${key}`);
  const value = schema[key];
  if (key === '$ref') checkReference(value, at, root);
  if (key === 'enum' && !(Array.isArray(value) && value.length > 0)) {
    throw wrong(`${at}/enum`, 'expected values');
  }
  if (!isValue || schema.type === undefined) return;
  const types = typesOf(schema, at);
  const strange = ((key === 'enum' ? value : [value]) as unknown[]).find(
    (item) => !types.some((type) => isOfType(item, type)),
  );
  if (strange !== undefined) {
    throw wrong(`${at}/${key}`, `${JSON.stringify(strange)} is not of type ${types.join(' or ')}`);
  }
}

function checkReference(reference: unknown, at: string, root: unknown): void {
  const isLocal = typeof reference === 'string' && /^#\/(\$defs|definitions)\//.test(reference);
  if (reference === '#') return;
  if (!isLocal) throw wrong(`${at}/$ref`, `${JSON.stringify(reference)}: expected #/$defs/NAME`);
  let node = root;
  for (const name of reference.split('/').slice(1)) {
    node = isJsonObject(node) && Object.hasOwn(node, name) ? node[name] : undefined;
  }
  if (node === undefined) throw wrong(`${at}/$ref`, `${reference}: there is no such definition`);
}

function checkTypes(schema: JsonObject, assertions: readonly string[], at: string): void {
  if (assertions.length === 0) return;
  const types = typesOf(schema, at);
  const known = new Set(['type', ...types.flatMap((type) => BY_TYPE[type] ?? [])]);
  const strange = assertions.find((key) => !known.has(key));
  if (strange !== undefined) {
    const supported = [...known, ...ALONE].join(', ');
    throw wrong(
      `${at}/${strange}`,
      `not supported for ${types.join(' or ')}; supported: ${supported}`,
    );
  }
  checkString(schema, at);
  checkBounds(schema, at);
  checkRequired(schema, at);
}

function typesOf(schema: JsonObject, at: string): string[] {
  const { type } = schema;
  const types = (Array.isArray(type) ? type : [type]) as unknown[];
  const strange = types.find((t) => typeof t !== 'string' || !Object.hasOwn(BY_TYPE, t));
  if (strange === undefined && type !== undefined && types.length > 0) return types as string[];
  const got = type === undefined ? 'missing' : `got ${JSON.stringify(type)}`;
  throw wrong(`${at}/type`, `${got}, expected ${Object.keys(BY_TYPE).join(', ')}`);
}

function checkString(schema: JsonObject, at: string): void {
  const { format, pattern } = schema;
  if (format !== undefined && !(typeof format === 'string' && FORMATS.includes(format))) {
    const problem = `${JSON.stringify(format)} not supported; supported: ${FORMATS.join(', ')}`;
    throw wrong(`${at}/format`, problem);
  }
  if (pattern !== undefined && typeof pattern !== 'string')
    throw wrong(`${at}/pattern`, 'expected a string');
  const whole = format !== undefined ? 'format' : pattern !== undefined ? 'pattern' : null;
  const beside = [...LENGTHS, 'pattern'].find((key) => key !== whole && schema[key] !== undefined);
  if (whole !== null && beside !== undefined)
    throw wrong(`${at}/${beside}`, `not supported beside ${whole}`);
}

function checkBounds(schema: JsonObject, at: string): void {
  for (const key of ['minLength', 'maxLength', 'minItems', 'maxItems']) {
    const value = schema[key];
    const isCount = Number.isInteger(value) && (value as number) >= 0;
    if (value === undefined || (isCount && (value as number) <= MAX_COUNT)) continue;
    throw wrong(
      `${at}/${key}`,
      `got ${JSON.stringify(value)}, expected a count up to ${MAX_COUNT}`,
    );
  }
  for (const key of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) {
    const value = schema[key];
    if (value !== undefined && !Number.isFinite(value))
      throw wrong(`${at}/${key}`, 'expected a number');
  }
}

function checkRequired({ required, properties }: JsonObject, at: string): void {
  if (required === undefined) return;
  const names = isJsonObject(properties) ? properties : {};
  if (!Array.isArray(required)) throw wrong(`${at}/required`, 'expected names');
  const strange = (required as unknown[]).find(
    (name) => typeof name !== 'string' || !Object.hasOwn(names, name),
  );
  if (strange !== undefined)
    throw wrong(`${at}/required`, `${JSON.stringify(strange)} is not in properties`);
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isJsonObject(value);
  return typeof value === type;
}

function wrong(at: string, problem: string): EngineError {
  return new EngineError('bad_request', `JSON schema: ${at}: ${problem}`);
}
