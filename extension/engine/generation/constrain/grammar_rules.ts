import { EngineError } from '../../errors';
import type { Grammar } from './constraint';
import { parseEbnf } from './ebnf_parser';
import { either, type Expression, type GrammarRules, text as textOf } from './expression';
import { schemaGrammar } from './json_schema_grammar';
import {
  MAX_CHOICE_CHARS,
  MAX_CHOICES,
  MAX_EBNF_CHARS,
  MAX_NESTING,
  MAX_PATTERN_CHARS,
} from './limits';
import { regexGrammar } from './regex_grammar';

const NO_RULES: GrammarRules['rules'] = new Map();

/** Throws EngineError bad_request for what is wrong, too large, or would not be enforced. */
export function rulesOf(grammar: Grammar): GrammarRules {
  switch (grammar.type) {
    case 'json_schema':
      return schemaGrammar(grammar.schema);
    case 'json_object':
      return schemaGrammar({ type: 'object' });
    case 'regex':
      checkText('regex', grammar.pattern, MAX_PATTERN_CHARS);
      return { root: regexGrammar(grammar.pattern, 'plain'), rules: NO_RULES };
    case 'ebnf':
      checkText('grammar', grammar.text, MAX_EBNF_CHARS);
      return parseEbnf(grammar.text);
    case 'choice':
      return { root: oneOf(grammar.choices), rules: NO_RULES };
  }
}

function oneOf(choices: readonly string[]): Expression {
  if (choices.length === 0 || choices.length > MAX_CHOICES) {
    throw wrong('choices', `got ${choices.length}, expected 1 to ${MAX_CHOICES}`);
  }
  for (const choice of choices) checkText('choice', choice, MAX_CHOICE_CHARS);
  return either(choices.map(textOf));
}

function checkText(name: string, text: string, most: number): void {
  if (text === '') throw wrong(name, 'empty');
  if (text.length > most)
    throw wrong(name, `got ${text.length} characters, expected at most ${most}`);
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth++;
    else if (char === ')') depth--;
    if (depth > MAX_NESTING) throw wrong(name, `parentheses nested deeper than ${MAX_NESTING}`);
  }
}

function wrong(name: string, problem: string): EngineError {
  return new EngineError('bad_request', `${name}: ${problem}`);
}
