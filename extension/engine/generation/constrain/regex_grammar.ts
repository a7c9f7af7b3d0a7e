import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { EngineError } from '../../errors';
import {
  ALL,
  type CodePoints,
  codePoints,
  ESCAPED_IN_JSON,
  intersection,
  without,
} from './code_points';
import { either, type Expression, oneOf, repeated, sequence, text } from './expression';

/** How one character is written: as it is, or as in a JSON string. */
export type Writing = 'plain' | 'json';

const DIGIT: CodePoints = [[0x30, 0x39]];
const WORD = codePoints([
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]);
const LINE_ENDS = codePoints([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);
/** Of the characters that JSON escapes, those that may be meant when a set has them. */
const SHORT_ESCAPES = new Map([
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
]);
const SPACE = codePoints([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]);

/**
 * The texts that a JavaScript regular expression matches from beginning to end. Throws EngineError
 * bad_request for what is wrong, and for what looks around or back.
 */
export function regexGrammar(pattern: string, writing: Writing): Expression {
  let ast: AST.Pattern;
  try {
    ast = new RegExpParser().parsePattern(pattern, 0, pattern.length, { unicode: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineError('bad_request', `pattern ${JSON.stringify(pattern)}: ${reason}`);
  }
  return alternatives(withoutAnchors(ast), writing);
}

/** ^ at the beginning and $ at the end say what holds anyway. */
function withoutAnchors(ast: AST.Pattern): readonly (readonly AST.Element[])[] {
  return ast.alternatives.map(({ elements }) => {
    const isAnchor = (element: AST.Element | undefined, kind: string) =>
      element?.type === 'Assertion' && element.kind === kind;
    const first = isAnchor(elements[0], 'start') ? 1 : 0;
    const last = isAnchor(elements.at(-1), 'end') ? elements.length - 1 : elements.length;
    return elements.slice(first, last);
  });
}

function alternatives(all: readonly (readonly AST.Element[])[], writing: Writing): Expression {
  return either(all.map((elements) => sequence(...elements.map((e) => element(e, writing)))));
}

function element(node: AST.Element, writing: Writing): Expression {
  switch (node.type) {
    case 'Character':
      return characters([[node.value, node.value]], node, writing);
    case 'CharacterSet':
    case 'CharacterClass':
      return characters(setOf(node), node, writing);
    case 'Group':
    case 'CapturingGroup':
      return alternatives(
        node.alternatives.map(({ elements }) => elements),
        writing,
      );
    case 'Quantifier':
      return repeated(element(node.element, writing), node.min, node.max);
    case 'Assertion':
    case 'Backreference':
    case 'ExpressionCharacterClass':
      throw unsupported(node);
  }
}

function setOf(node: AST.CharacterSet | AST.CharacterClass): CodePoints {
  if (node.type === 'CharacterClass') {
    const set = codePoints(node.elements.flatMap((part) => [...classMember(part)]));
    return node.negate ? without(ALL, set) : set;
  }
  switch (node.kind) {
    case 'any':
      return without(ALL, LINE_ENDS);
    case 'digit':
      return node.negate ? without(ALL, DIGIT) : DIGIT;
    case 'word':
      return node.negate ? without(ALL, WORD) : WORD;
    case 'space':
      return node.negate ? without(ALL, SPACE) : SPACE;
    case 'property':
      throw unsupported(node);
  }
}

function classMember(part: AST.CharacterClassElement): CodePoints {
  switch (part.type) {
    case 'Character':
      return [[part.value, part.value]];
    case 'CharacterClassRange':
      return [[part.min.value, part.max.value]];
    case 'CharacterSet':
      return setOf(part);
    default:
      throw unsupported(part);
  }
}

function characters(set: CodePoints, node: AST.Node, writing: Writing): Expression {
  const plain = writing === 'json' ? without(set, ESCAPED_IN_JSON) : codePoints(set);
  const escapes = writing === 'json' ? intersection(set, ESCAPED_IN_JSON) : [];
  const written = [...SHORT_ESCAPES]
    .filter(([code]) => escapes.some(([first, last]) => first <= code && code <= last))
    .map(([, escape]) => text(escape));
  const all = plain.length === 0 ? written : [oneOf(plain), ...written];
  if (all.length === 0) throw unsupported(node);
  return either(all);
}

function unsupported({ raw }: AST.Node): EngineError {
  return new EngineError(
    'bad_request',
    `pattern: ${JSON.stringify(raw)} is not supported; supported: characters, classes, groups, |, *, +, ? and {n,m}`,
  );
}
