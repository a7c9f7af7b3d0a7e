import { existsSync, readFileSync } from 'node:fs';
import { EngineError } from '../errors';
import type { Grammar } from '../generation/constrain/constraint';
import type { OptionReader, OptionSpecs } from './options';

export const GRAMMAR_OPTIONS: OptionSpecs = {
  'json-schema': { type: 'string' },
  regex: { type: 'string' },
  grammar: { type: 'string' },
  choice: { type: 'string', multiple: true },
};

export const GRAMMAR_HELP: Readonly<Record<string, string>> = {
  'json-schema': 'the answer is JSON that is valid by this schema; FILE or JSON',
  regex: 'the answer matches this JavaScript regular expression from beginning to end',
  grammar: 'the answer is a text of the EBNF in FILE',
  choice: 'the answer is this text; may be given more than once',
};

/** At most one of the options. Throws EngineError bad_request. */
export function grammarOption(values: OptionReader): Grammar | undefined {
  const schema = values.string('json-schema');
  const pattern = values.string('regex');
  const file = values.string('grammar');
  const choices = values.strings('choice');
  const given: Grammar[] = [];
  if (schema !== undefined) given.push({ type: 'json_schema', schema: readSchema(schema) });
  if (pattern !== undefined) given.push({ type: 'regex', pattern });
  if (file !== undefined) given.push({ type: 'ebnf', text: read('--grammar', file) });
  if (choices.length > 0) given.push({ type: 'choice', choices });
  if (given.length <= 1) return given[0];
  throw new EngineError(
    'bad_request',
    'give one of --json-schema, --regex, --grammar and --choice',
  );
}

function readSchema(value: string): unknown {
  const text = existsSync(value) ? read('--json-schema', value) : value;
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError('bad_request', `--json-schema: neither a file nor JSON: ${reason}`, {
      cause,
    });
  }
}

function read(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new EngineError('bad_request', `${option} ${file}: cannot be read`, { cause });
  }
}
