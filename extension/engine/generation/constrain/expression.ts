import type { CodePoints } from './code_points';

/** A grammar's right-hand sides, over Unicode text. */
export type Expression =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'character'; readonly set: CodePoints }
  | { readonly type: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly type: 'either'; readonly parts: readonly Expression[] }
  /** `most` may be Infinity. */
  | {
      readonly type: 'repeat';
      readonly part: Expression;
      readonly least: number;
      readonly most: number;
    }
  | { readonly type: 'rule'; readonly name: string };

export const EMPTY: Expression = { type: 'text', text: '' };

export function text(value: string): Expression {
  return { type: 'text', text: value };
}

export function oneOf(set: CodePoints): Expression {
  return { type: 'character', set };
}

export function sequence(...parts: readonly Expression[]): Expression {
  const said = parts.filter((part) => part !== EMPTY);
  const [only = EMPTY] = said;
  return said.length < 2 ? only : { type: 'sequence', parts: said };
}

export function either(parts: readonly Expression[]): Expression {
  const [only = EMPTY] = parts;
  return parts.length < 2 ? only : { type: 'either', parts };
}

export function repeated(part: Expression, least: number, most: number): Expression {
  if (most === 0 || part === EMPTY) return EMPTY;
  return least === 1 && most === 1 ? part : { type: 'repeat', part, least, most };
}

export function optional(part: Expression): Expression {
  return repeated(part, 0, 1);
}

/** Named right-hand sides. */
export class Rules {
  readonly bodies = new Map<string, Expression>();

  /** The rule of this name; its body may refer to itself. */
  define(name: string, body: () => Expression): Expression {
    if (!this.bodies.has(name)) {
      this.bodies.set(name, EMPTY);
      this.bodies.set(name, body());
    }
    return { type: 'rule', name };
  }

  /** A rule of its own for an expression that stands in several places. */
  add(body: Expression): Expression {
    if (body === EMPTY || body.type === 'rule') return body;
    return this.define(`#${this.bodies.size}`, () => body);
  }
}

/** The texts of `root`. */
export interface GrammarRules {
  readonly root: Expression;
  readonly rules: ReadonlyMap<string, Expression>;
}
