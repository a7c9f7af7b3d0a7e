import { ALL, codePoints, ESCAPED_IN_JSON, without } from './code_points';
import {
  EMPTY,
  either,
  type Expression,
  oneOf,
  optional,
  repeated,
  type Rules,
  sequence,
  text,
} from './expression';
import { MAX_JSON_WHITESPACE } from './limits';
import { anyNumber } from './number_grammar';
import { regexGrammar } from './regex_grammar';

/** Characters that stand for themselves in a JSON string. */
const PLAIN = without(ALL, ESCAPED_IN_JSON);
/** No half of a surrogate pair, which is no character, and two of which are one. */
const ESCAPE = regexGrammar(
  '\\\\(["\\\\/bfnrt]|u([0-9a-cA-CeEfF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}))',
  'plain',
);
const SPACES = regexGrammar(`[ \\n\\t]{0,${MAX_JSON_WHITESPACE}}`, 'plain');

/** JSON as RFC 8259 has it, with a bound on the white space between its parts. */
export class JsonGrammar {
  constructor(readonly rules: Rules) {}

  get space(): Expression {
    return this.rules.define('space', () => SPACES);
  }

  /** One character of a string. */
  get character(): Expression {
    return this.rules.define('character', () => either([oneOf(PLAIN), ESCAPE]));
  }

  string(least = 0, most = Infinity): Expression {
    return sequence(text('"'), repeated(this.character, least, most), text('"'));
  }

  get value(): Expression {
    return this.rules.define('value', () =>
      either([
        this.object([], VALUE),
        this.array([], VALUE),
        this.string(),
        anyNumber(),
        ...['true', 'false', 'null'].map(text),
      ]),
    );
  }

  /** `rest`: of the items after the first ones, at least `least` and at most `most` in all; null: none. */
  array(
    first: readonly Expression[],
    rest: Expression | null,
    least = 0,
    most = Infinity,
  ): Expression {
    const comma = sequence(text(','), this.space);
    const item = (index: number) => first[index] ?? rest;
    const known = first.slice(0, most);
    // From the last to the first: what may follow the items before it.
    let tail = this.more(rest, comma, least - known.length, most - known.length);
    for (let index = known.length - 1; index >= 1; index--) {
      const next: Expression = sequence(comma, item(index) ?? EMPTY, tail);
      tail = index < least ? next : optional(next);
    }
    const head = known[0];
    let items: Expression;
    if (head !== undefined) items = sequence(head, tail);
    else if (rest === null || most === 0) items = EMPTY;
    else items = sequence(rest, this.more(rest, comma, least - 1, most - 1));
    const body = least > 0 || items === EMPTY ? items : optional(items);
    return sequence(text('['), this.space, body, this.space, text(']'));
  }

  private more(
    rest: Expression | null,
    comma: Expression,
    least: number,
    most: number,
  ): Expression {
    if (rest === null || most <= 0) return EMPTY;
    return repeated(sequence(comma, rest), Math.max(0, least), most);
  }

  /** `others`: the value of properties beside the named ones, null: there are none. */
  object(properties: readonly Property[], others: Expression | null): Expression {
    const comma = sequence(text(','), this.space);
    const pairs = properties.map(({ name, value }) => this.pair(text(JSON.stringify(name)), value));
    const names = properties.map(({ name }) => name);
    const other = others === null ? null : this.pair(this.nameBeside(names), others);
    // From the last to the first: what may follow when a pair was written before, and when none was.
    let later = other === null ? EMPTY : repeated(sequence(comma, other), 0, Infinity);
    let first = other === null ? EMPTY : optional(sequence(other, later));
    for (let i = properties.length - 1; i >= 0; i--) {
      const pair = pairs[i] ?? EMPTY;
      const isRequired = properties[i]?.isRequired === true;
      const after = this.rules.add(later);
      const next = sequence(comma, pair, after);
      const here = sequence(pair, after);
      first = isRequired ? here : either([here, this.rules.add(first)]);
      later = isRequired ? next : either([next, after]);
    }
    return sequence(text('{'), this.space, first, this.space, text('}'));
  }

  private pair(name: Expression, value: Expression): Expression {
    return sequence(name, text(':'), this.space, value);
  }

  /** A name that is none of these; without escapes, which could spell one of them otherwise. */
  private nameBeside(names: readonly string[]): Expression {
    return sequence(text('"'), this.rules.add(this.beside(names)));
  }

  private beside(names: readonly string[]): Expression {
    const heads = new Map<string, string[]>();
    for (const name of names) {
      const [head] = name;
      if (head !== undefined)
        heads.set(head, [...(heads.get(head) ?? []), name.slice(head.length)]);
    }
    const used = codePoints(
      [...heads.keys()].map((c) => [c.codePointAt(0) ?? 0, c.codePointAt(0) ?? 0]),
    );
    const end = this.rules.define('name_end', () =>
      sequence(repeated(oneOf(PLAIN), 0, Infinity), text('"')),
    );
    const ways = [sequence(oneOf(without(PLAIN, used)), end)];
    for (const [head, tails] of heads) {
      ways.push(sequence(text(head), this.rules.add(this.beside(tails))));
    }
    if (!names.includes('')) ways.push(text('"'));
    return either(ways);
  }
}

const VALUE: Expression = { type: 'rule', name: 'value' };

export interface Property {
  readonly name: string;
  readonly value: Expression;
  readonly isRequired: boolean;
}
