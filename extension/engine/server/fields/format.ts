import * as z from 'zod';
import { badRequest } from '../errors';
import { EngineError } from '../../errors';
import type { Grammar } from '../../generation/constrain/constraint';
import type { ServerEngine } from '../engine';
import { MAX_CHOICES, MAX_EBNF_CHARS, MAX_PATTERN_CHARS } from '../../generation/constrain/limits';
import { described, issue, optional, text } from './field';

const jsonSchemaFormat = z.object({
  type: z.literal('json_schema'),
  json_schema: z.object({
    name: z.string().max(64).optional(),
    description: z.string().optional(),
    strict: z.boolean().nullish(),
    schema: z.record(z.string(), z.unknown()),
  }),
});

const responseFormat = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({ type: z.literal('json_object') }),
    jsonSchemaFormat,
  ])
  .transform((format): Grammar | undefined => {
    switch (format.type) {
      case 'text':
        return undefined;
      case 'json_object':
        return { type: 'json_object' };
      case 'json_schema':
        return { type: 'json_schema', schema: format.json_schema.schema };
    }
  });

const anyJson = z.union([z.record(z.string(), z.unknown()), z.literal(true)]);

/** vLLM's fields for the same, and for what JSON is not. */
const guidedFields = {
  guided_json: described(optional(anyJson), {
    type: 'object',
    range: 'a JSON schema',
    otherwise: 'none',
    note: 'the answer is JSON of this schema',
  }),
  guided_regex: text(MAX_PATTERN_CHARS, {
    otherwise: 'none',
    note: 'the whole answer matches this pattern',
  }),
  guided_choice: described(optional(z.array(z.string().min(1)).min(1).max(MAX_CHOICES)), {
    type: 'array',
    range: `1 to ${MAX_CHOICES} texts`,
    otherwise: 'none',
    note: 'the answer is one of these',
  }),
  guided_grammar: text(MAX_EBNF_CHARS, {
    otherwise: 'none',
    note: 'the answer is a text of this EBNF, whose first rule is `root`',
  }),
};

/** What the answer must be; becomes a grammar. */
export const formatFields = {
  response_format: described(optional(responseFormat), {
    type: 'object',
    range: '`text`, `json_object`, or `json_schema` with a schema',
    otherwise: '`text`',
    note: 'the answer is JSON, of the schema; a schema that cannot be enforced is refused',
  }),
  ...guidedFields,
};

export interface FormatValues {
  readonly response_format?: Grammar | undefined;
  readonly guided_json?: Readonly<Record<string, unknown>> | true | undefined;
  readonly guided_regex?: string | undefined;
  readonly guided_choice?: readonly string[] | undefined;
  readonly guided_grammar?: string | undefined;
}

/** The grammar that a request asks for, and the field that asks for it; null for plain text. */
export function grammarOf(
  values: FormatValues,
): { readonly grammar: Grammar; readonly param: string } | null {
  const { response_format, guided_json, guided_regex, guided_choice, guided_grammar } = values;
  if (response_format !== undefined) return { grammar: response_format, param: 'response_format' };
  if (guided_json !== undefined)
    return { grammar: { type: 'json_schema', schema: guided_json }, param: 'guided_json' };
  if (guided_regex !== undefined)
    return { grammar: { type: 'regex', pattern: guided_regex }, param: 'guided_regex' };
  if (guided_choice !== undefined)
    return { grammar: { type: 'choice', choices: guided_choice }, param: 'guided_choice' };
  if (guided_grammar !== undefined)
    return { grammar: { type: 'ebnf', text: guided_grammar }, param: 'guided_grammar' };
  return null;
}

/** Objects to more than one of the fields. */
export function checkOneFormat(values: FormatValues, context: z.core.$RefinementCtx): void {
  const { response_format, guided_json, guided_regex, guided_choice, guided_grammar } = values;
  const all = { response_format, guided_json, guided_regex, guided_choice, guided_grammar };
  const [, second] = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  if (second === undefined) return;
  context.addIssue({
    ...issue('invalid_value', 'expected only one way to say what the answer is'),
    path: [second],
  });
}

/** Throws 400 that names `param` when the engine cannot hold an answer to the grammar. */
export function checkGrammar(
  engine: ServerEngine,
  grammar: Grammar | undefined,
  param: string,
): void {
  if (grammar === undefined) return;
  try {
    engine.checkGrammar(grammar);
  } catch (error) {
    if (!(error instanceof EngineError && error.code === 'bad_request')) throw error;
    throw badRequest('invalid_value', param, `${param}: ${error.message.slice(0, 500)}`);
  }
}
