import { EngineError } from '../../errors';
import type { Expression, GrammarRules } from './expression';
import { utf8Ranges } from './utf8_ranges';

/**
 * What a recognizer of bytes does next; numbers are places in the code. A stack of frames remembers where a rule returns
 * to and how often a part was repeated.
 */
export type Op =
  | { readonly op: 'byte'; readonly first: number; readonly last: number; readonly next: number }
  | { readonly op: 'split'; readonly next: readonly number[] }
  | { readonly op: 'call'; readonly rule: string; readonly next: number }
  | {
      readonly op: 'repeat';
      readonly part: number;
      readonly least: number;
      readonly most: number;
      readonly next: number;
    }
  /** The end of the part that `repeat` repeats. */
  | { readonly op: 'loop'; readonly repeat: number }
  | { readonly op: 'return' };

export interface Code {
  readonly ops: readonly Op[];
  /** Where each rule begins. */
  readonly entries: ReadonlyMap<string, number>;
  readonly start: number;
}

/** Throws EngineError bad_request for a rule that does not exist and for a set without characters. */
export function compile({ root, rules }: GrammarRules): Code {
  const writer = new CodeWriter();
  const entries = new Map([...rules].map(([name, body]) => [name, writer.rule(body)] as const));
  const start = writer.rule(root);
  for (const op of writer.ops) {
    if (op.op === 'call' && !entries.has(op.rule)) {
      throw new EngineError('bad_request', `grammar: there is no rule ${JSON.stringify(op.rule)}`);
    }
  }
  return { ops: writer.ops, entries, start };
}

/** Writes from the end to the beginning, so that what follows is known. */
class CodeWriter {
  readonly ops: Op[] = [];

  rule(body: Expression): number {
    return this.expression(body, this.push({ op: 'return' }));
  }

  private push(op: Op): number {
    return this.ops.push(op) - 1;
  }

  private expression(node: Expression, next: number): number {
    switch (node.type) {
      case 'text':
        return this.bytes(new TextEncoder().encode(node.text), next);
      case 'character':
        return this.either(utf8Ranges(node.set).map((ranges) => () => this.ranges(ranges, next)));
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.expression(part, after), next);
      case 'either':
        return this.either(node.parts.map((part) => () => this.expression(part, next)));
      case 'repeat':
        return this.repeat(node, next);
      case 'rule':
        return this.push({ op: 'call', rule: node.name, next });
    }
  }

  private bytes(bytes: Uint8Array, next: number): number {
    return this.ranges(
      [...bytes].map((byte) => [byte, byte] as const),
      next,
    );
  }

  private ranges(ranges: readonly (readonly [number, number])[], next: number): number {
    return ranges.reduceRight(
      (after, [first, last]) => this.push({ op: 'byte', first, last, next: after }),
      next,
    );
  }

  private either(ways: readonly (() => number)[]): number {
    if (ways.length === 0)
      throw new EngineError('bad_request', 'grammar: a set without characters');
    const next = ways.map((way) => way());
    return next.length === 1 ? (next[0] as number) : this.push({ op: 'split', next });
  }

  private repeat(node: Extract<Expression, { type: 'repeat' }>, next: number): number {
    const { least, most } = node;
    const at = this.push({ op: 'return' });
    const part = this.expression(node.part, this.push({ op: 'loop', repeat: at }));
    this.ops[at] = { op: 'repeat', part, least, most, next };
    return at;
  }
}
