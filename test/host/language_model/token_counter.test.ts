import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { estimateTokens } from '../../../extension/host/language_model/estimate';
import { TokenCounter } from '../../../extension/host/language_model/token_counter';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { SPROUT } from '../../engine/loading/model_fixture';

const root = new URL('../../../', import.meta.url).pathname;

describe('estimated tokens', () => {
  const tokenizer = loadTokenizer(SPROUT);
  for (const file of ['README.md', 'package.json', 'extension/host/chat/controller.ts']) {
    it(`of ${file} are near the truth, rather more`, () => {
      const text = readFileSync(root + file, 'utf8');
      const ratio = estimateTokens(text) / tokenizer.encode(text).length;
      assert(ratio > 0.9 && ratio < 1.5, `estimated / counted = ${ratio.toFixed(2)}`);
    });
  }

  it('of the 10,000 small texts of an agent’s turn take no time', () => {
    const started = performance.now();
    for (let index = 0; index < 10_000; index++) estimateTokens(`word ${index}\n`);
    assert(performance.now() - started < 500);
  });

  it('are never 0 for a text that has something, and 0 for none', () => {
    assert.equal(estimateTokens(''), 0);
    for (const text of ['a', '.', '\n', '7', 'é', '漢字']) assert(estimateTokens(text) > 0, text);
  });
});

describe('token counter', () => {
  const LONG = 'a long text '.repeat(60);
  const lab = (isLoaded = true) => {
    const asked: (readonly string[])[] = [];
    const counter = new TokenCounter({
      countExactly: async (texts) => {
        asked.push(texts);
        return texts.map((text) => text.length);
      },
      isLoaded: () => isLoaded,
    });
    return { counter, asked };
  };

  it('answers for short texts at once, without the engine', () => {
    const { counter, asked } = lab();
    assert.equal(typeof counter.count('hello'), 'number');
    assert.deepEqual(asked, []);
  });

  it('asks the engine for long ones, all of a moment together, and each once', async () => {
    const { counter, asked } = lab();
    const texts = [LONG, `${LONG}!`, LONG];
    assert.deepEqual(
      await Promise.all(texts.map(async (text) => counter.count(text))),
      texts.map((text) => text.length),
    );
    assert.deepEqual(asked, [[LONG, `${LONG}!`]]);
    assert.equal(await counter.count(LONG), LONG.length);
    counter.forget();
    await counter.count(LONG);
    assert.equal(asked.length, 2);
  });

  it('loads no model for a count', () => {
    const { counter, asked } = lab(false);
    assert.equal(counter.count(LONG), estimateTokens(LONG));
    assert.deepEqual(asked, []);
  });

  it('estimates when the engine cannot answer', async () => {
    const counter = new TokenCounter({
      countExactly: () => Promise.reject(new Error('gone')),
      isLoaded: () => true,
    });
    assert.equal(await counter.count(LONG), estimateTokens(LONG));
  });
});
