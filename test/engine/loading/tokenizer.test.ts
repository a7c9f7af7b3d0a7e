import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tokenizer as HubTokenizer } from '@huggingface/tokenizers';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import { assertFails, FIXTURES, SPROUT, temporaryFolder, writeFiles } from './model_fixture';

const tokenizer = loadTokenizer(SPROUT);

interface Golden {
  readonly prompts: readonly {
    readonly name: string;
    readonly text: string;
    readonly ids: readonly number[];
  }[];
}

test('the ids of the golden prompts, control tokens included', () => {
  const golden = JSON.parse(readFileSync(join(FIXTURES, 'sprout-golden.json'), 'utf8')) as Golden;
  for (const { name, text, ids } of golden.prompts) {
    assert.deepEqual(tokenizer.encodeTemplate(text), ids, name);
    assert.equal(tokenizer.decode(ids), text, name);
  }
});

test('source code gives the ids of the Hub’s own tokenizer, and comes back unchanged', () => {
  const json = JSON.parse(readFileSync(join(SPROUT, 'tokenizer.json'), 'utf8')) as object;
  const hub = new HubTokenizer({ ...json, added_tokens: [] }, {});
  const folder = join(FIXTURES, '../../extension/engine/loading');
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.ts'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    const ids = tokenizer.encode(text);
    assert.deepEqual(ids, hub.encode(text).ids, name);
    assert.equal(tokenizer.decode(ids), text, name);
  }
});

test('control tokens in plain text stay text', () => {
  const text = 'const end = "<|im_end|>"; // <|fim_prefix|><think><tool_call>';
  const ids = tokenizer.encode(text);
  assert.ok(ids.every((id) => !tokenizer.isSpecial(id)));
  assert.equal(tokenizer.decode(ids), text);
  assert.ok(tokenizer.encodeTemplate(text).includes(tokenizer.specialId('<|im_end|>') ?? -1));
});

test('all bytes have a token, and lone surrogates do not throw', () => {
  const seen = new Set<number>();
  for (let id = 0; id < tokenizer.vocabSize; id++) {
    const bytes = tokenizer.tokenBytes(id);
    if (bytes.length === 1 && bytes[0] !== undefined) seen.add(bytes[0]);
  }
  assert.equal(seen.size, 256);
  assert.equal(tokenizer.decode(tokenizer.encode('a\ud800b')), 'a\ufffdb');
  assert.equal(tokenizer.tokenBytes(16_383).length, 0); // a row of the embedding without a token
});

test('a long run of one character is encoded and comes back', () => {
  for (const char of ['a', ' ', '^', '漢']) {
    const text = char.repeat(200_000 / char.length);
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text, char);
  }
});

test('more ids than the model has rows', () => {
  assert.equal(tokenizer.within(16_384), tokenizer);
  assertFails(() => tokenizer.within(16_000), 'bad_model', '>= vocab_size 16000');
});

/** A tokenizer in SentencePiece's style: ▁ for spaces, bytes for characters that it lacks. */
const LLAMA = {
  added_tokens: [
    { id: 1, content: '<s>', special: true },
    { id: 2, content: '</s>', special: true },
    { id: 270, content: '<|think|>', special: false },
  ],
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
  },
  decoder: null,
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    byte_fallback: true,
    fuse_unk: true,
    vocab: {
      '<unk>': 0,
      '<s>': 1,
      '</s>': 2,
      ...Object.fromEntries(
        Array.from({ length: 256 }, (_, b) => [
          `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`,
          3 + b,
        ]),
      ),
      '▁': 259,
      a: 260,
      b: 261,
      '▁a': 262,
      '▁ab': 263,
    },
    merges: ['▁ a', '▁a b'],
  },
};

test('SentencePiece style: spaces, byte fallback, beginning of sequence', () => {
  const folder = writeFiles(temporaryFolder(), {
    'tokenizer.json': LLAMA,
    'tokenizer_config.json': { eos_token: { content: '</s>' } },
  });
  const llama = loadTokenizer(folder);
  assert.deepEqual(llama.encode('ab a'), [263, 262]);
  assert.deepEqual(llama.encode('aé'), [262, 3 + 0xc3, 3 + 0xa9]);
  assert.deepEqual(llama.encodeTemplate('<s>ab</s>'), [1, 263, 2]);
  assert.deepEqual([...llama.tokenBytes(263)], [...Buffer.from(' ab')]);
  assert.equal(llama.decode([262, 3 + 0xc3, 3 + 0xa9]), ' aé');
  assert.deepEqual([llama.prefixIds, llama.eosId, llama.vocabSize], [[1], 2, 271]);
  // Not declared special, but plain text must not reach it all the same.
  assert.ok(llama.isSpecial(270));
  assert.ok(!llama.encode('<|think|>').includes(270));
});

test('added tokens beyond the model’s rows are text: Gemma 3’s for images', () => {
  const added_tokens = [...LLAMA.added_tokens, { id: 271, content: '<image>', special: true }];
  const files = { 'tokenizer.json': { ...LLAMA, added_tokens } };
  const whole = loadTokenizer(writeFiles(temporaryFolder(), files));
  const fitted = whole.within(271);
  assert.deepEqual([whole.vocabSize, fitted.vocabSize], [272, 271]);
  assert.ok(whole.encodeTemplate('<image>').includes(271));
  const ids = fitted.encodeTemplate('<|think|><image>');
  assert.equal(ids[0], 270);
  assert.ok(ids.every((id) => id < 271));
  assert.equal(fitted.specialId('<image>'), null);
  assert.equal(fitted.tokenBytes(271).length, 0);
});

test('HTML’s tags are ordinary where a vocabulary has them whole, as Gemma’s', () => {
  const added_tokens = [
    ...LLAMA.added_tokens,
    { id: 271, content: '<table>', special: false },
    { id: 272, content: '</td>', special: false },
    { id: 273, content: '<unused0>', special: false },
  ];
  const gemma = loadTokenizer(
    writeFiles(temporaryFolder(), { 'tokenizer.json': { ...LLAMA, added_tokens } }),
  );
  assert.deepEqual(gemma.encode('<table></td>'), [271, 272]);
  assert.deepEqual([gemma.isSpecial(271), gemma.isSpecial(273)], [false, true]);
  assert.ok(!gemma.encode('<s><unused0><|think|>').some((id) => gemma.isSpecial(id)));
});

test('added tokens that tokenizer_config.json alone has', () => {
  const added = (content: string) => ({ content, special: true, lstrip: false });
  const folder = writeFiles(temporaryFolder(), {
    'tokenizer.json': LLAMA,
    'tokenizer_config.json': {
      eos_token: '<|im_end|>',
      added_tokens_decoder: {
        1: added('<s>'),
        260: added('another text of this id'),
        262: added('▁a'),
        300: added('<|im_end|>'),
        x: added('no id'),
      },
    },
  });
  const chatMl = loadTokenizer(folder);
  assert.deepEqual([chatMl.eosId, chatMl.vocabSize], [300, 301]);
  assert.deepEqual(chatMl.encodeTemplate('ab<|im_end|>'), [263, 300]);
  assert.ok(chatMl.isSpecial(262) && !chatMl.isSpecial(260));
});

test('what a text ends with, as embedding models want it', () => {
  const single = [
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: '</s>', type_id: 0 } },
  ];
  const special_tokens = { '</s>': { id: '</s>', ids: [2], tokens: ['</s>'] } };
  const post_processor = { ...LLAMA.post_processor, single, special_tokens };
  const folder = writeFiles(temporaryFolder(), { 'tokenizer.json': { ...LLAMA, post_processor } });
  const { prefixIds, suffixIds } = loadTokenizer(folder);
  assert.deepEqual([prefixIds, suffixIds], [[], [2]]);
});

test('tokenizer_config.json decides about the beginning of sequence', () => {
  const prefix = (config: object) =>
    loadTokenizer(
      writeFiles(temporaryFolder(), { 'tokenizer.json': LLAMA, 'tokenizer_config.json': config }),
    ).prefixIds;
  assert.deepEqual(prefix({ bos_token: '<s>', add_bos_token: false }), []);
  assert.deepEqual(prefix({ bos_token: '</s>', add_bos_token: true }), [2]);
  assertFails(
    () => prefix({ bos_token: '<nope>' }),
    'bad_model',
    'bos_token: "<nope>" is not in tokenizer.json',
  );
  assertFails(() => prefix({ eos_token: 5 }), 'bad_model', 'eos_token: got 5, expected a string');
});
