import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PRE_TOKENIZERS } from '../../../extension/engine/loading/gguf/pre_tokenizers';
import { LONG_TEXT, slicesOf } from '../../../extension/engine/loading/text_slices';
import { textSplitter } from '../../../extension/engine/loading/text_splitter';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { Random } from '../generation/scheduler/random';
import { SPROUT } from './model_fixture';

const folder = join(SPROUT, '../../engine/loading');
const CODE = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n');
const ODD = [
  ' ',
  '  ',
  '\n',
  '\r\n',
  '\t',
  ' \n',
  'é',
  'e\u0301',
  '漢字',
  '👩‍👩‍👧',
  "'s",
  "'LL",
  '123',
  '://',
  '…',
  '_',
  'A',
  'Bc',
];

function oddText(seed: number, length: number): string {
  const random = new Random(seed);
  const word = () => CODE.slice(random.int(0, CODE.length - 9)).slice(0, random.int(1, 9));
  const piece = () =>
    random.int(0, 3) === 0 ? (ODD[random.int(0, ODD.length - 1)] ?? '') : word();
  let text = '';
  while (text.length < length) text += piece();
  return text;
}

function splitterOf(name: string) {
  const steps = (PRE_TOKENIZERS.get(name)?.patterns ?? []).map((pattern) => ({
    type: 'Split',
    pattern: { Regex: pattern },
    behavior: 'Isolated',
    invert: false,
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, use_regex: false };
  return textSplitter({
    file: 'f',
    normalizer: { type: 'NFC' },
    preTokenizer: { type: 'Sequence', pretokenizers: [...steps, byteLevel] },
    postProcessor: null,
  });
}

describe('a long text in slices', () => {
  for (const name of PRE_TOKENIZERS.keys()) {
    it(`has the words of the whole, with the splitter ${name}`, () => {
      const splitter = splitterOf(name);
      assert(splitter.keepsText);
      const words = (text: string) => splitter.words(text, 0);
      for (const text of [CODE.slice(0, 60_000), oddText(1, 60_000), oddText(2, 60_000)]) {
        const slices = [...slicesOf(text, words)];
        assert.equal(slices.join(''), text);
        assert.deepEqual(slices.flatMap(words), words(text));
      }
    });
  }

  it('is cut in the same places whatever stands before it', () => {
    const splitter = splitterOf('qwen2');
    const cut = (text: string) => [...slicesOf(text, (part) => splitter.words(part, 0))];
    const [alone, behind] = [cut(CODE), new Set(cut(`user\nLook at this file: a.ts\n${CODE}`))];
    assert(alone.length > 20, `${alone.length} slices`);
    const others = alone.filter((slice) => !behind.has(slice));
    assert(others.length <= 1, `${others.length} slices besides the first are others`);
  });

  it('has the tokens of the whole, prepared or not, and lets others work meanwhile', async () => {
    const text = CODE.repeat(2);
    assert(text.length > 2 * LONG_TEXT);
    const tokenizer = loadTokenizer(SPROUT);
    let turns = 0;
    let runs = true;
    const turn = (): void => {
      turns++;
      if (runs) setImmediate(turn);
    };
    setImmediate(turn);
    await tokenizer.prepare(text);
    runs = false;
    assert(turns > 5, `${turns} turns of the event loop`);
    const lines = text.split(/(?<=\S\n)(?=[a-z])/);
    const ids = lines.flatMap((line) => tokenizer.encode(line));
    assert.deepEqual(tokenizer.encode(text), ids);
    assert.deepEqual(loadTokenizer(SPROUT).encode(text), ids);
    assert(tokenizer.leastTokens(text) <= ids.length);
    const spaces = ' '.repeat(100_000);
    assert(tokenizer.leastTokens(spaces) <= tokenizer.encode(spaces).length);
    assert(tokenizer.leastTokens(spaces) > 1000);
  });
});
