import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Grammar } from '../../../../extension/engine/generation/constrain/constraint';
import { compile } from '../../../../extension/engine/generation/constrain/code';
import { rulesOf } from '../../../../extension/engine/generation/constrain/grammar_rules';
import { Grammars } from '../../../../extension/engine/generation/constrain/grammars';
import { assertFails } from '../../loading/model_fixture';
import { byteTokenizer, EOS, randomText, VOCAB_SIZE } from './byte_vocabulary';

const grammars = new Grammars({ tokenizer: byteTokenizer, eosIds: [EOS], vocabSize: VOCAB_SIZE });

/** Whether a text is one of the grammar, by bytes, and whether it may end there. */
function accepts(grammar: Grammar, text: string): boolean {
  const constraint = grammars.begin(grammar);
  for (const byte of byteTokenizer.encode(text)) {
    if (!allowed(constraint).has(byte)) return false;
    constraint.accept(byte);
  }
  return constraint.isComplete || allowed(constraint).has(EOS);
}

function allowed(constraint: ReturnType<Grammars['begin']>): Set<number> {
  const logits = new Float32Array(VOCAB_SIZE);
  constraint.mask(logits);
  return new Set([...logits.keys()].filter((id) => logits[id] === 0));
}

const regex = (pattern: string): Grammar => ({ type: 'regex', pattern });
const schema = (value: unknown): Grammar => ({ type: 'json_schema', schema: value });
const ebnf = (text: string): Grammar => ({ type: 'ebnf', text });

describe('the mask', () => {
  test('allows exactly the tokens whose bytes all fit, and never a control token', () => {
    const grammar = schema({ enum: ['ab', 'a', true] });
    const constraint = grammars.begin(grammar);
    const word = (text: string) =>
      [...Array(EOS).keys()].find((id) => byteTokenizer.decode([id]) === text) ?? -1;
    assert.deepEqual(allowed(constraint), new Set([0x22, 0x74, word('true')]));
    constraint.accept(0x22);
    assert.deepEqual(allowed(constraint), new Set([0x61, word('ab')]));
    constraint.accept(word('ab'));
    assert.deepEqual(allowed(constraint), new Set([0x22]));
    assert.ok(!constraint.isComplete);
    constraint.accept(0x22);
    assert.ok(constraint.isComplete);
  });

  test('allows the end where the text may end', () => {
    const constraint = grammars.begin(regex('a+'));
    assert.deepEqual(allowed(constraint), new Set([0x61]));
    constraint.accept(0x61);
    assert.deepEqual(allowed(constraint), new Set([0x61, EOS]));
    assert.ok(!constraint.isComplete);
  });

  test('two answers of one grammar do not disturb each other', () => {
    const [a, b] = [grammars.begin(regex('xb|cd')), grammars.begin(regex('xb|cd'))];
    a.accept(0x78);
    assert.deepEqual(allowed(b), new Set([0x78, 0x63]));
  });

  test('a grammar without a text that this vocabulary can write is an error', () => {
    const letters = { isSpecial: () => false, tokenBytes: () => Uint8Array.of(0x61) };
    const poor = new Grammars({ tokenizer: letters, eosIds: [], vocabSize: 3 });
    const constraint = poor.begin(regex('b'));
    assertFails(() => constraint.mask(new Float32Array(3)), 'bad_request', 'no token');
  });
});

describe('regular expressions', () => {
  const PATTERNS = [
    '[a-c]{2,4}x?',
    '(foo|ba[rz])*',
    '^\\d+(\\.\\d{1,2})?$',
    '[^a-z"\\n]{3}',
    '\\w+@\\w+\\.(com|org)',
    '.é?漢*[а-я]{2}',
    '\\S{1,3} \\W\\D',
    '(a|b(c|d(e|f)))+?',
    '\\u0041\\x42\\.\\[\\]\\\\\\/',
    '[\\u{1F600}-\\u{1F64F}]{1,3}',
  ];
  for (const pattern of PATTERNS) {
    test(`every text of ${pattern} matches it`, () => {
      const whole = new RegExp(`^(?:${pattern})$`, 'u');
      for (let seed = 0; seed < 20; seed++) {
        const text = randomText(grammars, regex(pattern), seed);
        assert.ok(text !== null && whole.test(text), JSON.stringify(text));
      }
    });
  }

  test('near misses are refused', () => {
    assert.ok(accepts(regex('[a-c]{2,4}x?'), 'abcx'));
    for (const text of ['a', 'abcab', 'abd', 'abxx', '']) {
      assert.ok(!accepts(regex('[a-c]{2,4}x?'), text), text);
    }
    assert.ok(
      accepts(regex('[\\u07ff-\\u0800]'), '\u07ff') &&
        accepts(regex('[\\u07ff-\\u0800]'), '\u0800'),
    );
    assert.ok(
      !accepts(regex('[\\u07ff-\\u0800]'), '\u07fe') &&
        !accepts(regex('[\\u07ff-\\u0800]'), '\u0801'),
    );
  });

  test('what looks around or back is not supported, and what is no expression is an error', () => {
    for (const pattern of ['(?=a)b', 'a\\b', '(a)\\1', '\\p{L}', 'a^b', '(?<!x)y']) {
      assertFails(() => grammars.begin(regex(pattern)), 'bad_request', 'not supported');
    }
    for (const pattern of ['(', '[b-a]', 'a{2,1}', '*']) {
      assertFails(() => grammars.begin(regex(pattern)), 'bad_request', 'pattern');
    }
    assertFails(() => grammars.begin(regex('')), 'bad_request', 'regex: empty');
  });
});

describe('choices', () => {
  test('are taken as they are', () => {
    const grammar: Grammar = { type: 'choice', choices: ['yes', 'no (".*")', 'né'] };
    for (const text of ['yes', 'no (".*")', 'né']) assert.ok(accepts(grammar, text), text);
    for (const text of ['ye', 'yess', 'no']) assert.ok(!accepts(grammar, text), text);
  });

  test('there must be some, and not too many', () => {
    const begin = (choices: string[]) => () => grammars.begin({ type: 'choice', choices });
    assertFails(begin([]), 'bad_request', 'got 0');
    assertFails(begin(['a', '']), 'bad_request', 'choice: empty');
    assertFails(begin(Array(2000).fill('x') as string[]), 'bad_request', 'got 2000');
  });
});

describe('EBNF', () => {
  test('rules, sets, groups, counts, comments', () => {
    const grammar = ebnf(`
      # a list of sums
      root ::= sum ("," ws sum){0,2}
      sum ::= number (op number)*
      op ::= [+*/-] | "mod"   # also a word
      number ::= [0-9]+ ("." [0-9]{2})?
      ws ::= [ \\t]*
    `);
    for (const text of ['1', '1+2*3', '10.25mod3, 4,5']) assert.ok(accepts(grammar, text), text);
    for (const text of ['', '1+', '1.2', '1,2,3,4', '1 ']) assert.ok(!accepts(grammar, text), text);
  });

  test('escapes and characters beyond ASCII', () => {
    const grammar = ebnf('root ::= "\\"\\n\\x41\\u00e9\\U0001f600" [^\\]a] .');
    assert.ok(accepts(grammar, '"\nAé😀b漢'));
    assert.ok(!accepts(grammar, '"\nAé😀]漢') && !accepts(grammar, '"\nAé😀a漢'));
  });

  test('rules may nest without an end', () => {
    const grammar = ebnf('root ::= "(" root ")" | ""');
    const deep = 500;
    assert.ok(accepts(grammar, '('.repeat(deep) + ')'.repeat(deep)));
    assert.ok(!accepts(grammar, '('.repeat(deep) + ')'.repeat(deep - 1)));
  });

  for (const [text, problem] of [
    ['a ::= "x"', 'no rule "root"'],
    ['root ::= x', 'no rule "x"'],
    ['root ::= "a', 'has no end'],
    ['root ::= ("a"', 'line 1: expected )'],
    ['root ::= "a"\nroot ::= "b"', 'line 2: rule root is there twice'],
    ['root ::= "a"{3,1}', 'counts'],
    ['root ::= "a"{1,999999}', 'counts'],
    ['root ::= "\\q"', '\\q is no escape'],
    ['root ::= []', 'without characters'],
    ['root ::= root "a" | "b"', 'begins with itself'],
    ['root ::= a\na ::= b\nb ::= a', 'no text that goes on'],
    [`root ::= ${'('.repeat(5000)}"a"${')'.repeat(5000)}`, 'nested deeper'],
    ['root = "a"', 'expected NAME ::='],
  ] as const) {
    test(`${text.slice(0, 40)} is an error`, () => {
      assertFails(() => begin(ebnf(text)), 'bad_request', problem);
    });
  }

  test('parts that read nothing come to an end', () => {
    assert.ok(accepts(ebnf('root ::= ((""*)*)* "a"'), 'a'));
    assert.ok(accepts(ebnf('root ::= ("a"?){2,5}'), 'aa'));
  });
});

/** Some mistakes show when the first mask is made. */
function begin(grammar: Grammar): void {
  grammars.begin(grammar).mask(new Float32Array(VOCAB_SIZE));
}

describe('JSON schema', () => {
  test('hundreds of properties that say the same are compiled once', () => {
    const ops = (value: object): number => {
      const names = Array.from({ length: 300 }, (_, i) => `p${i}`);
      const properties = Object.fromEntries(names.map((name) => [name, { ...value, title: name }]));
      const grammar = schema({ type: 'object', properties });
      return compile(rulesOf(grammar)).ops.length;
    };
    const few = ops({ type: 'null' });
    for (const value of [
      { type: 'string', format: 'date-time' },
      { type: 'number' },
      { type: 'integer', minimum: 1, maximum: 65_535 },
      { type: 'string', pattern: '[a-z]{2,8}(-[a-z]{2,8})*' },
    ]) {
      assert(ops(value) < 1.5 * few, `${JSON.stringify(value)}: ${ops(value)}, of null ${few}`);
    }
  });

  test('what is valid is accepted', () => {
    const person = schema({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0, maximum: 120 } },
      required: ['name'],
    });
    for (const text of [
      '{"name":"a"}',
      '{ "name" : "é\\n\\u00e9", "age": 120}',
      '{\n  "name": ""\n}',
    ]) {
      const isSpaced = text.includes(' :');
      assert.equal(accepts(person, text), !isSpaced, text);
    }
    for (const text of [
      '{}',
      '{"name":1}',
      '{"name":"a","age":121}',
      '{"name":"a","x":1}',
      '{"name":"\n"}',
    ]) {
      assert.ok(!accepts(person, text), text);
    }
  });

  test('additional properties take every name but the known ones', () => {
    const open = schema({
      type: 'object',
      properties: { ab: { type: 'integer' }, 'a"': { type: 'integer' } },
      additionalProperties: { type: 'boolean' },
    });
    for (const text of ['{}', '{"ab":1}', '{"ab":1,"abc":true}', '{"a":true,"":false,"b":true}']) {
      assert.ok(accepts(open, text), text);
    }
    for (const text of ['{"ab":true}', '{"x":1}', '{"a\\u0062":true}', '{"ab":1,"ab":true}']) {
      assert.ok(!accepts(open, text), text);
    }
  });

  test('arrays: counts, first items, no more items', () => {
    const two = schema({ type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: false });
    for (const text of ['[]', '[1]', '[1,2]']) assert.ok(accepts(two, text), text);
    for (const text of ['[2]', '[1,2,3]', '[1,]']) assert.ok(!accepts(two, text), text);
    const some = schema({
      type: 'array',
      prefixItems: [{ const: 1 }],
      items: { const: 0 },
      minItems: 2,
      maxItems: 3,
    });
    for (const text of ['[1,0]', '[1,0,0]']) assert.ok(accepts(some, text), text);
    for (const text of ['[1]', '[0,0]', '[1,0,0,0]', '[]']) assert.ok(!accepts(some, text), text);
  });

  test('integers between bounds, all of them and no others', () => {
    for (const [minimum, maximum] of [
      [0, 9],
      [-3, 12],
      [7, 7],
      [95, 1203],
      [-1050, -98],
      [-1, 0],
    ] as const) {
      const grammar = schema({ type: 'integer', minimum, maximum });
      for (let n = minimum - 15; n <= maximum + 15; n++) {
        assert.equal(
          accepts(grammar, String(n)),
          n >= minimum && n <= maximum,
          `${n} of ${minimum}…${maximum}`,
        );
      }
      assert.ok(!accepts(grammar, '00') && !accepts(grammar, '-'));
    }
  });

  test('numbers between bounds', () => {
    const grammar = schema({ type: 'number', minimum: 0, maximum: 1 });
    for (const text of ['0', '1', '0.5', '0.999']) assert.ok(accepts(grammar, text), text);
    for (const text of ['1.5', '-0.5', '2', '1e9', '.5']) assert.ok(!accepts(grammar, text), text);
  });

  for (const [value, problem] of [
    [{ type: 'wat' }, '#/type: got "wat"'],
    [{ minLength: 3 }, '#/type: missing'],
    [{ not: { type: 'string' } }, '#/type: missing'],
    [{ type: 'string', not: {} }, '#/not: not supported for string'],
    [{ type: 'array', uniqueItems: true }, '#/uniqueItems'],
    [{ type: 'integer', multipleOf: 3 }, '#/multipleOf'],
    [{ type: 'object', patternProperties: {} }, '#/patternProperties'],
    [{ oneOf: [{ type: 'string' }] }, '#/type: missing'],
    [{ anyOf: [], type: 'string' }, '#/type: not supported beside anyOf'],
    [{ anyOf: [] }, '#/anyOf: expected schemas'],
    [
      { type: 'object', properties: { a: { type: 'string', format: 'weird' } } },
      '#/properties/a/format',
    ],
    [{ type: 'string', pattern: 'a', maxLength: 3 }, '#/maxLength: not supported beside pattern'],
    [{ type: 'object', required: ['x'] }, '"x" is not in properties'],
    [{ $ref: 'http://x/y' }, 'expected #/$defs/NAME'],
    [{ $ref: '#/$defs/x' }, 'no such definition'],
    [{ $ref: '#' }, 'no text that goes on'],
    [{ type: 'integer', enum: [1, 'x'] }, '"x" is not of type integer'],
    [{ type: 'integer', minimum: 5, maximum: 3 }, 'no whole number lies within'],
    [{ type: 'string', minLength: -1 }, 'expected a count'],
    [{ type: 'string', maxLength: 1e9 }, 'up to 100000'],
    ['string', 'expected an object or true'],
    [false, 'expected an object or true'],
    [{ enum: [] }, '#/enum: expected values'],
  ] as const) {
    test(`${JSON.stringify(value)} is refused`, () => {
      assertFails(() => begin(schema(value)), 'bad_request', problem);
    });
  }

  test('deep and large schemas are refused', () => {
    let deep: unknown = { type: 'string' };
    for (let i = 0; i < 50; i++) deep = { type: 'array', items: deep };
    assertFails(() => begin(schema(deep)), 'bad_request', 'nested deeper');
    const large = { enum: Array.from({ length: 20_000 }, (_, i) => `value ${i}`) };
    assertFails(() => begin(schema(large)), 'bad_request', 'characters');
  });

  test('any JSON object', () => {
    for (const text of ['{}', '{"a":[1,{"b":null}],"c":-1.5e+3}']) {
      assert.ok(accepts({ type: 'json_object' }, text), text);
    }
    for (const text of ['[]', '1', '{"a":01}', '{a:1}'])
      assert.ok(!accepts({ type: 'json_object' }, text), text);
  });
});
