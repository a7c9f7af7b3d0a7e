import type { JsonObject } from '../../loading/json_file';
import { isJsonObject } from '../../loading/json_file';
import { EngineError } from '../../errors';
import { either, type Expression, type GrammarRules, Rules, sequence, text } from './expression';
import { JsonGrammar } from './json_grammar';
import { checkSchema } from './json_schema';
import { anyNumber, integerBetween, numberBetween } from './number_grammar';
import { regexGrammar } from './regex_grammar';
import { STRING_FORMATS } from './string_formats';

/** Keywords that say what a text or a number may be. */
const STRING_KEYS = ['pattern', 'format', 'minLength', 'maxLength'];
const NUMBER_KEYS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];

/**
 * JSON that is valid by a schema (draft 2020-12). Some valid texts are left out: properties come in the schema's
 * order, names that the schema does not list only where `additionalProperties` says so, a pattern matches the whole string,
 * and bounds of numbers are rounded inwards to whole ones. Throws EngineError bad_request for what would not be enforced.
 */
export function schemaGrammar(schema: unknown): GrammarRules {
  checkSchema(schema);
  return new SchemaGrammar(schema).rulesOf();
}

class SchemaGrammar {
  private readonly rules = new Rules();
  private readonly json = new JsonGrammar(this.rules);
  /** By reference. */
  private readonly definitions = new Map<string, Expression>();

  constructor(private readonly root: unknown) {}

  rulesOf(): GrammarRules {
    return { root: this.reference('#'), rules: this.rules.bodies };
  }

  private reference(pointer: string): Expression {
    const known = this.definitions.get(pointer);
    if (known !== undefined) return known;
    const name = `definition ${pointer}`;
    this.definitions.set(pointer, { type: 'rule', name });
    const steps = pointer.split('/').slice(1);
    const target = steps.reduce<unknown>(
      (node, step) => (isJsonObject(node) ? node[step] : undefined),
      this.root,
    );
    return this.rules.define(name, () => this.value(target));
  }

  private value(schema: unknown): Expression {
    if (!isJsonObject(schema)) return this.json.value;
    if (typeof schema.$ref === 'string') return this.reference(schema.$ref);
    if (schema.anyOf !== undefined) return this.anyOf(schema.anyOf as unknown[]);
    if (schema.enum !== undefined) return either((schema.enum as unknown[]).map(constant));
    if (schema.const !== undefined) return constant(schema.const);
    const { type } = schema;
    if (type === undefined) return this.json.value;
    const types = (Array.isArray(type) ? type : [type]) as string[];
    return either(types.map((each) => this.ofType(each, schema)));
  }

  private anyOf(schemas: readonly unknown[]): Expression {
    return either(schemas.map((schema) => this.rules.add(this.value(schema))));
  }

  private ofType(type: string, schema: JsonObject): Expression {
    switch (type) {
      case 'object':
        return this.object(schema);
      case 'array':
        return this.array(schema);
      case 'string':
        return this.shared(type, STRING_KEYS, schema, () => this.string(schema));
      case 'integer':
      case 'number':
        return this.shared(type, NUMBER_KEYS, schema, () => number(type, schema));
      case 'boolean':
        return either(['true', 'false'].map(text));
      default:
        return text('null');
    }
  }

  /** One rule for all that say the same: hundreds of dates are compiled once. */
  private shared(
    type: string,
    keys: readonly string[],
    schema: JsonObject,
    body: () => Expression,
  ): Expression {
    return this.rules.define(`${type} ${JSON.stringify(keys.map((key) => schema[key]))}`, body);
  }

  private object({
    properties = {},
    required = [],
    additionalProperties: others,
  }: JsonObject): Expression {
    const named = Object.entries(properties as JsonObject).map(([name, value]) => ({
      name,
      value: this.rules.add(this.value(value)),
      isRequired: (required as string[]).includes(name),
    }));
    const isOpen = others === undefined ? named.length === 0 : others !== false;
    return this.json.object(named, isOpen ? this.rules.add(this.value(others)) : null);
  }

  private array({ items, prefixItems = [], minItems, maxItems }: JsonObject): Expression {
    const first = (prefixItems as unknown[]).map((item) => this.rules.add(this.value(item)));
    const rest = items === false ? null : this.rules.add(this.value(items));
    const least = (minItems as number | undefined) ?? 0;
    return this.json.array(first, rest, least, (maxItems as number | undefined) ?? Infinity);
  }

  private string({ pattern, format, minLength = 0, maxLength = Infinity }: JsonObject): Expression {
    const regex = typeof format === 'string' ? STRING_FORMATS[format] : pattern;
    if (typeof regex !== 'string')
      return this.json.string(minLength as number, maxLength as number);
    return sequence(text('"'), regexGrammar(regex, 'json'), text('"'));
  }
}

function constant(value: unknown): Expression {
  return text(JSON.stringify(value));
}

function number(type: 'integer' | 'number', schema: JsonObject): Expression {
  const bound = (key: string, none: number) => (schema[key] as number | undefined) ?? none;
  const min = Math.max(
    Math.ceil(bound('minimum', -Infinity)),
    Math.floor(bound('exclusiveMinimum', -Infinity)) + 1,
  );
  const max = Math.min(
    Math.floor(bound('maximum', Infinity)),
    Math.ceil(bound('exclusiveMaximum', Infinity)) - 1,
  );
  if (type === 'number' && min === -Infinity && max === Infinity) return anyNumber();
  const grammar = type === 'integer' ? integerBetween(min, max) : numberBetween(min, max);
  if (grammar !== null) return grammar;
  throw new EngineError(
    'bad_request',
    `JSON schema: no whole number lies within ${JSON.stringify(schema)}; bounds are rounded inwards to whole ones`,
  );
}
