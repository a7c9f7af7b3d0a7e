import { EngineError } from '../../errors';
import { ALL, type CodePoints, codePoints, without } from './code_points';
import {
  either,
  EMPTY,
  type Expression,
  type GrammarRules,
  oneOf,
  optional,
  repeated,
  sequence,
  text,
} from './expression';
import { MAX_COUNT, MAX_NESTING } from './limits';

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  '"': '"',
  "'": "'",
  ']': ']',
  '[': '[',
  '-': '-',
  '^': '^',
};
const NAME = /[a-zA-Z_][\w-]*/y;
const DEFINED = /[a-zA-Z_][\w-]*\s*::=/y;
const BLANK = /(?:\s|#[^\n]*)+/y;
const COUNTS = /\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}/y;

/**
 * Reads rules `name ::= …`, one of them `root`: "text", [a-z] and [^a-z], `.` for any character, names, (groups), `|`,
 * `?`, `*`, `+`, `{n}`, `{n,}`, `{n,m}`, comments after `#`; escapes \n \r \t \" \\ \xHH \uHHHH \UHHHHHHHH. Throws
 * EngineError bad_request with the line.
 */
export function parseEbnf(source: string): GrammarRules {
  const rules = new EbnfParser(source).rules();
  if (!rules.has('root')) throw new EngineError('bad_request', 'grammar: there is no rule "root"');
  return { root: { type: 'rule', name: 'root' }, rules };
}

class EbnfParser {
  private at = 0;

  constructor(private readonly source: string) {}

  rules(): Map<string, Expression> {
    const rules = new Map<string, Expression>();
    for (this.skip(); this.at < this.source.length; this.skip()) {
      const name = this.match(NAME)?.[0];
      this.skip();
      if (name === undefined || !this.take('::=')) throw this.wrong('expected NAME ::= …');
      if (rules.has(name)) throw this.wrong(`rule ${name} is there twice`);
      rules.set(name, this.alternatives(0));
    }
    return rules;
  }

  private alternatives(depth: number): Expression {
    if (depth > MAX_NESTING) throw this.wrong(`nested deeper than ${MAX_NESTING}`);
    const parts = [this.items(depth)];
    while (this.take('|')) parts.push(this.items(depth));
    return either(parts);
  }

  private items(depth: number): Expression {
    const parts: Expression[] = [];
    for (;;) {
      this.skip();
      const item = this.item(depth);
      if (item === null) return sequence(...parts);
      parts.push(this.counted(item));
    }
  }

  /** Null at the end of a sequence. */
  private item(depth: number): Expression | null {
    const next = this.source[this.at];
    if (next === undefined || next === '|' || next === ')') return null;
    if (this.take('"')) return text(this.quoted());
    if (this.take('[')) return oneOf(this.set());
    if (this.take('.')) return oneOf(ALL);
    if (this.take('(')) {
      const inner = this.alternatives(depth + 1);
      if (!this.take(')')) throw this.wrong('expected )');
      return inner;
    }
    if (this.looksAt(DEFINED)) return null;
    const name = this.match(NAME)?.[0];
    if (name === undefined)
      throw this.wrong(`got ${JSON.stringify(next)}, expected a part of a rule`);
    return { type: 'rule', name };
  }

  private counted(item: Expression): Expression {
    let result = item;
    for (;;) {
      if (this.take('?')) result = optional(result);
      else if (this.take('*')) result = repeated(result, 0, Infinity);
      else if (this.take('+')) result = repeated(result, 1, Infinity);
      else if (this.source[this.at] === '{') result = this.bounded(result);
      else return result;
    }
  }

  private bounded(item: Expression): Expression {
    const [, from, comma, to] = this.match(COUNTS) ?? [];
    if (from === undefined) throw this.wrong('expected {n}, {n,} or {n,m}');
    const least = Number(from);
    const most = comma === undefined ? least : to === undefined ? Infinity : Number(to);
    if (least > most || least > MAX_COUNT || (most !== Infinity && most > MAX_COUNT)) {
      throw this.wrong(`{${least},${most}}: expected counts that grow, up to ${MAX_COUNT}`);
    }
    return least === 0 && most === 0 ? EMPTY : repeated(item, least, most);
  }

  private quoted(): string {
    let value = '';
    while (!this.take('"')) value += this.character();
    return value;
  }

  private set(): CodePoints {
    const isNegated = this.take('^');
    const ranges: [number, number][] = [];
    while (!this.take(']')) {
      const first = codeOf(this.character());
      const isRange = this.source[this.at] === '-' && this.source[this.at + 1] !== ']';
      if (isRange) this.at++;
      const last = isRange ? codeOf(this.character()) : first;
      if (last < first) throw this.wrong('a range that falls');
      ranges.push([first, last]);
    }
    const set = codePoints(ranges);
    return isNegated ? without(ALL, set) : set;
  }

  private character(): string {
    const char = String.fromCodePoint(this.source.codePointAt(this.at) ?? 0);
    if (this.at >= this.source.length || char === '\n')
      throw this.wrong('a quote or set has no end');
    this.at += char.length;
    return char === '\\' ? this.escape() : char;
  }

  private escape(): string {
    const hex = this.match(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})/y);
    if (hex !== null) {
      const code = parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16);
      if (code > 0x10ffff) throw this.wrong(`\\${hex[0]} is no character`);
      return String.fromCodePoint(code);
    }
    const char = this.source[this.at] ?? '';
    const value = Object.hasOwn(ESCAPES, char) ? ESCAPES[char] : undefined;
    if (value === undefined) throw this.wrong(`\\${char} is no escape`);
    this.at++;
    return value;
  }

  private skip(): void {
    this.match(BLANK);
  }

  private take(word: string): boolean {
    if (!this.source.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found !== null) this.at = pattern.lastIndex;
    return found;
  }

  private looksAt(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.source);
  }

  private wrong(problem: string): EngineError {
    const line = this.source.slice(0, this.at).split('\n').length;
    return new EngineError('bad_request', `grammar: line ${line}: ${problem}`);
  }
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
