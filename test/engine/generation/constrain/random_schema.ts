import type { Random } from '../scheduler/random';

type Schema = Record<string, unknown>;

/** A schema of every kind that is supported, some levels deep. */
export function randomSchema(random: Random): Schema {
  const schema = node(random, 0);
  if (!random.chance(0.2)) return schema;
  const tree = {
    type: 'object',
    properties: {
      value: node(random, 2),
      next: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
    },
    required: ['value', 'next'],
    additionalProperties: false,
  };
  return { $defs: { tree }, $ref: '#/$defs/tree' };
}

function node(random: Random, depth: number): Schema {
  const leaves: readonly [() => Schema, ...(() => Schema)[]] = [
    () => string(random),
    () => integer(random),
    () => ({ type: 'number' }),
    () => ({ type: 'boolean' }),
    () => ({ type: ['string', 'null'], maxLength: 5 }),
    () => ({ enum: ['x', 7, null, 'a"b\\', { k: [1] }] }),
    () => ({ const: random.pick<unknown>(['fixed', -3, true, [1, 2]]) }),
    () => ({ anyOf: [{ type: 'null' }, integer(random)] }),
  ];
  const branch = random.pick([() => object(random, depth), () => array(random, depth)]);
  return depth < 3 && random.chance(0.7) ? branch() : random.pick(leaves)();
}

function object(random: Random, depth: number): Schema {
  const names = ['id', 'name', 'ü', 'a b', 'tags', 'x"y'].slice(0, random.int(1, 5));
  return {
    type: 'object',
    description: 'any',
    properties: Object.fromEntries(names.map((name) => [name, node(random, depth + 1)])),
    required: names.filter(() => random.chance(0.6)),
    additionalProperties: false,
  };
}

function array(random: Random, depth: number): Schema {
  const minItems = random.int(0, 2);
  return {
    type: 'array',
    items: node(random, depth + 1),
    minItems,
    maxItems: minItems + random.int(0, 3),
  };
}

function string(random: Random): Schema {
  const minLength = random.int(0, 3);
  return random.pick<() => Schema>([
    () => ({ type: 'string', minLength, maxLength: minLength + random.int(0, 9) }),
    () => ({
      type: 'string',
      pattern: random.pick(['^[a-z]{2,5}$', '^\\d+(\\.\\d{1,2})?$', '^(yes|no)!?$']),
    }),
    () => ({ type: 'string', format: random.pick(['date', 'time', 'date-time', 'uuid', 'ipv4']) }),
    () => ({ type: 'string', maxLength: 20 }),
  ])();
}

function integer(random: Random): Schema {
  const minimum = random.int(0, 400) - 200;
  return random.pick<() => Schema>([
    () => ({ type: 'integer', minimum, maximum: minimum + random.int(0, 3000) }),
    () => ({ type: 'integer', exclusiveMinimum: minimum, maximum: minimum + 10 }),
    () => ({ type: 'integer', minimum }),
    () => ({ type: 'integer' }),
  ])();
}
