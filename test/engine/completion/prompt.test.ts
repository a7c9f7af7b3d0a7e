import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPrompt, type PromptText } from '../../../extension/engine/completion/prompt';
import type { FimFormat } from '../../../extension/engine/loading/fim';
import { fim, tokenizer } from './sprout';

const TEXT: PromptText = {
  path: 'src/a.ts',
  prefix: 'const x = 1;\nconst y = ',
  prefixLine: 0,
  suffix: ';\nfoo();\n',
};

function build(
  text: Partial<PromptText> = {},
  options: {
    fim?: FimFormat | null;
    contextLength?: number;
    maxTokens?: number;
    heal?: boolean;
  } = {},
) {
  const { contextLength = 2048, maxTokens = 64, heal = false } = options;
  const engine = {
    tokenizer,
    fim: options.fim === undefined ? fim : options.fim,
    info: { contextLength },
  };
  const { ids, healedPrefix } = buildPrompt(engine, { ...TEXT, ...text }, { maxTokens, heal });
  return { ids, text: tokenizer.decode(ids), healed: new TextDecoder().decode(healedPrefix) };
}

const id = (text: string): number => tokenizer.specialId(text) ?? -1;

describe('prompt', () => {
  it('is suffix first for a model that knows it', () => {
    assert.equal(
      build().text,
      '<|file_sep|>src/a.ts\n<|fim_prefix|><|fim_suffix|>;\nfoo();\n<|fim_middle|>const x = 1;\nconst y = ',
    );
  });

  it('is prefix first for others', () => {
    const layout = [
      id('<|fim_prefix|>'),
      'prefix',
      id('<|fim_suffix|>'),
      'suffix',
      id('<|fim_middle|>'),
    ] as const;
    assert.equal(
      build({}, { fim: { ...fim, layout, order: 'prefix-first' } }).text,
      '<|file_sep|>src/a.ts\n<|fim_prefix|>const x = 1;\nconst y = <|fim_suffix|>;\nfoo();\n<|fim_middle|>',
    );
  });

  it('is the prefix alone for a model that cannot fill in', () => {
    assert.equal(build({}, { fim: null }).text, TEXT.prefix);
    assert.deepEqual(build({ prefix: '', path: '' }, { fim: null }).ids, tokenizer.encode('\n'));
  });

  it('has exactly the control tokens of the format, at their places', () => {
    const controls = build().ids.filter((token) => tokenizer.isSpecial(token));
    const names = ['<|file_sep|>', '<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'];
    assert.deepEqual(controls, names.map(id));
  });

  it('takes the name of a control token in the document for text', () => {
    const text = '<|endoftext|><|fim_middle|><|file_sep|>';
    const { ids } = build({ prefix: text, suffix: text, path: text });
    assert.equal(ids.filter((token) => tokenizer.isSpecial(token)).length, 4);
  });

  it('has no header without a path, or with an absurd one', () => {
    assert(build({ path: '' }).text.startsWith('<|fim_prefix|>'));
    assert(build({ path: 'very/long/'.repeat(100) }).text.startsWith('<|fim_prefix|>'));
  });

  it('keeps the tokens before the cursor while one types', () => {
    const typed = 'foo(bar, 12).baz[0] + "text"';
    let before = build({}, { heal: true }).ids;
    for (let length = 1; length <= typed.length; length++) {
      const { ids, healed } = build(
        { prefix: TEXT.prefix + typed.slice(0, length) },
        { heal: true },
      );
      const shared = Math.min(before.length, ids.length);
      assert.deepEqual(ids.slice(0, shared), before.slice(0, shared), typed.slice(0, length));
      assert((TEXT.prefix + typed.slice(0, length)).endsWith(healed));
      before = ids;
    }
  });

  it('fits the context whatever the document', () => {
    const line = 'const someName = anotherName(withArgument, "and text");\n';
    for (const contextLength of [256, 2048]) {
      for (const text of [line.repeat(2000), 'x+'.repeat(50_000), '判'.repeat(20_000), '']) {
        const { ids } = build({ prefix: text, suffix: text }, { contextLength, maxTokens: 64 });
        assert(ids.length + 64 <= contextLength, `${ids.length} tokens`);
      }
    }
  });

  it('uses the context: a long document fills at least two thirds of it', () => {
    const line = 'const someName = anotherName(withArgument, "and text");\n';
    const { ids } = build({ prefix: line.repeat(2000), suffix: line.repeat(2000) });
    assert(ids.length > 1300, `${ids.length} tokens`);
  });

  it('says what to do when the context is too small', () => {
    assert.throws(() => build({}, { contextLength: 128, maxTokens: 120 }), {
      code: 'bad_request',
      message: /context of 128 tokens: too small for 120 new tokens/,
    });
  });
});
