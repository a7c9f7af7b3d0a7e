import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { TableFiles } from '../../../../extension/engine/backend/table_files';
import { findFim } from '../../../../extension/engine/loading/fim';
import { MERGES_KEY, TOKENS_KEY } from '../../../../extension/engine/loading/gguf/metadata';
import { GgufModel } from '../../../../extension/engine/loading/gguf/model';
import type { KeptTables } from '../../../../extension/engine/loading/kept_tables';
import { loadTokenizer, type Tokenizer } from '../../../../extension/engine/loading/tokenizer';
import { assertFails, FIXTURES, SPROUT, temporaryFolder } from '../model_fixture';
import { convert } from './convert';
import { f32, i32, text, u32, type Value } from './gguf_fixture';

interface BpeJson {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (string | readonly [string, string])[];
  };
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
}

const JSON_FILE = JSON.parse(readFileSync(join(SPROUT, 'tokenizer.json'), 'utf8')) as BpeJson;
const MERGES = JSON_FILE.model.merges.map((merge) =>
  typeof merge === 'string' ? merge : merge.join(' '),
);
const [NORMAL, CONTROL, UNUSED, BYTE] = [1, 3, 5, 6];

/** The tokens of sprout as a GGUF file has them. */
function sproutTokens(): { tokens: string[]; types: number[] } {
  const { model, added_tokens: added } = JSON_FILE;
  const size = Math.max(...Object.values(model.vocab), ...added.map(({ id }) => id)) + 1;
  const tokens = Array.from({ length: size }, (_, id) => `[PAD${id}]`);
  const types = Array<number>(size).fill(UNUSED);
  for (const [token, id] of Object.entries(model.vocab)) {
    tokens[id] = token;
    types[id] = NORMAL;
  }
  for (const { id, content } of added) {
    tokens[id] = content;
    types[id] = CONTROL;
  }
  return { tokens, types };
}

/** A model with the tokenizer of sprout, and `changes` to its metadata. */
function modelWith(changes: Readonly<Record<string, Value>> = {}): GgufModel {
  const { tokens, types } = sproutTokens();
  const path = join(temporaryFolder(), 'model.gguf');
  const metadata = {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text('qwen2'),
    [TOKENS_KEY]: text(tokens),
    'tokenizer.ggml.token_type': i32(types),
    [MERGES_KEY]: text(MERGES),
  };
  const checkpoint = join(FIXTURES, 'families/qwen3-yarn');
  writeFileSync(path, convert(checkpoint, { ...metadata, ...changes }));
  return GgufModel.open(path);
}

const TEXT = 'function größe(x) {\n\treturn `a${x}` + "\u{1f600}";\n} <|fim_middle|>   end';

function assertSame(got: Tokenizer, expected: Tokenizer): void {
  assert.deepEqual(got.encode(TEXT), expected.encode(TEXT));
  assert.deepEqual(got.encodeTemplate(TEXT), expected.encodeTemplate(TEXT));
  for (let id = 0; id < expected.vocabSize; id++) {
    assert.deepEqual(got.tokenBytes(id), expected.tokenBytes(id), `token ${id}`);
    assert.equal(got.isSpecial(id), expected.isSpecial(id));
  }
}

test('the tokenizer of a folder and of its GGUF file are the same', () => {
  const model = modelWith();
  assertSame(model.tokenizer(), loadTokenizer(SPROUT));
  model.close();
});

test('tables are kept and recalled, and give the same', () => {
  // More merges than sprout has; the further ones never apply.
  const merges = text([...MERGES, ...Array<string>(30_000).fill(MERGES[0] ?? '')]);
  const model = modelWith({ [MERGES_KEY]: merges });
  const folder = temporaryFolder();
  const files = new TableFiles(folder);
  const plain = model.tokenizer();
  assertSame(model.tokenizer(files), plain);
  assert.equal(readdirSync(join(folder, 'packed')).length, 1);
  let numRecalled = 0;
  const counted: KeptTables = {
    recall(name) {
      const bytes = files.recall(name);
      if (bytes !== null) numRecalled++;
      return bytes;
    },
    keep: () => assert.fail('they are there'),
  };
  assertSame(model.tokenizer(counted), plain);
  assert.equal(numRecalled, 1);
  model.close();
});

/** A SentencePiece vocabulary: all bytes, pieces that lead to longer ones, and so many that nothing leads to. */
function sentencePieces(fillers: number, ...more: readonly [string, number][]) {
  const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0');
  const pieces = [
    '▁',
    ...'abcdefghijklmnopqrstuvwxyz',
    're',
    'ur',
    'ret',
    'urn',
    '▁ret',
    '▁return',
  ];
  const tokens: [string, number][] = [
    ['<unk>', 2],
    ['<s>', CONTROL],
    ['</s>', CONTROL],
    ...Array.from({ length: 256 }, (_, byte): [string, number] => [`<0x${hex(byte)}>`, BYTE]),
    ...pieces.map((piece): [string, number] => [piece, NORMAL]),
    ...Array.from({ length: fillers }, (_, i): [string, number] => [`▁no${i}`, NORMAL]),
    ...more,
  ];
  return modelWith({
    'tokenizer.ggml.model': text('llama'),
    [TOKENS_KEY]: text(tokens.map(([token]) => token)),
    'tokenizer.ggml.token_type': i32(tokens.map(([, type]) => type)),
    'tokenizer.ggml.scores': f32(tokens.map((_, id) => -Math.floor(id / 2))),
  });
}

test('tables of SentencePiece are kept and recalled, and give the same', () => {
  const model = sentencePieces(30_000);
  const files = new TableFiles(temporaryFolder());
  let [numKept, numRecalled] = [0, 0];
  const counted: KeptTables = {
    recall(name) {
      const bytes = files.recall(name);
      if (bytes !== null) numRecalled++;
      return bytes;
    },
    keep(name, pieces) {
      numKept++;
      files.keep(name, pieces);
    },
  };
  const plain = model.tokenizer();
  assertSame(model.tokenizer(counted), plain);
  assertSame(model.tokenizer(counted), plain);
  assert.deepEqual([numKept, numRecalled], [1, 1]);
  assert.equal(plain.decode(plain.encode('a return größe')), ' a return größe');
  assert.equal(plain.encode('return return').length, 2);
  model.close();
  const small = sentencePieces(10);
  small.tokenizer(counted);
  assert.equal(numKept, 1, 'a small vocabulary is not worth it');
  small.close();
});

test('a second token of one text changes no SentencePiece', () => {
  const [model, other] = [sentencePieces(10), sentencePieces(10, ['▁return', CONTROL])];
  assert.deepEqual(other.tokenizer().encode('a return'), model.tokenizer().encode('a return'));
  model.close();
  other.close();
});

test('a control token with the text of a piece is nothing that text becomes', () => {
  const { tokens, types } = sproutTokens();
  const model = modelWith({
    [TOKENS_KEY]: text([...tokens, 'Ġreturn']),
    'tokenizer.ggml.token_type': i32([...types, CONTROL]),
  });
  const expected = loadTokenizer(SPROUT).encode('a return');
  assert.ok(expected.includes(tokens.indexOf('Ġreturn')));
  assert.deepEqual(model.tokenizer().encode('a return'), expected);
  model.close();
});

test('two tokens of one text are no error, and text comes back', () => {
  const { tokens, types } = sproutTokens();
  const model = modelWith({
    [TOKENS_KEY]: text([...tokens, 'Ġreturn']),
    'tokenizer.ggml.token_type': i32([...types, NORMAL]),
  });
  const tokenizer = model.tokenizer();
  assert.equal(tokenizer.decode(tokenizer.encode('a return')), 'a return');
  model.close();
});

test('ids that no token has are none', () => {
  const { tokens } = sproutTokens();
  const end = tokens.indexOf('<|im_end|>');
  const model = modelWith({
    'tokenizer.ggml.bos_token_id': u32(4_294_967_295),
    'tokenizer.ggml.eos_token_id': u32(end),
    'tokenizer.ggml.eos_token_ids': i32([end, 7]),
    'tokenizer.ggml.padding_token_id': u32(tokens.length),
    'tokenizer.ggml.fim_pad_token_id': i32(-1),
  });
  const tokenizer = model.tokenizer();
  assert.deepEqual([tokenizer.prefixIds, tokenizer.eosId], [[], end]);
  const { eosIds } = model.generationConfig(tokenizer);
  assert.deepEqual(eosIds, [7, tokens.indexOf('<|endoftext|>'), end]);
  model.close();
});

test('an answer of gpt-oss goes on after its thoughts', () => {
  const { tokens, types } = sproutTokens();
  const own = ['<|return|>', '<|call|>', '<|end|>'];
  const model = modelWith({
    [TOKENS_KEY]: text([...tokens, ...own]),
    'tokenizer.ggml.token_type': i32([...types, CONTROL, CONTROL, CONTROL]),
  });
  const tokenizer = model.tokenizer();
  const { eosIds } = model.generationConfig(tokenizer);
  assert.deepEqual(
    own.map((token) => eosIds.includes(tokenizer.specialId(token) ?? -1)),
    [true, true, false],
  );
  model.close();
});

test('control tokens that an old converter took for text: those of CodeLlama', () => {
  const names = ['▁<PRE>', '▁<SUF>', '▁<MID>', '▁<EOT>'];
  const model = sentencePieces(10, ...names.map((token): [string, number] => [token, NORMAL]));
  const tokenizer = model.tokenizer();
  assert.ok(names.every((token) => tokenizer.specialId(token) !== null));
  const fim = findFim(tokenizer, model.manifest());
  assert.equal(fim?.order, 'prefix-first');
  assert.ok(tokenizer.encode(' <PRE>').every((id) => !tokenizer.isSpecial(id)));
  model.close();
});

test('DeepSeek-V2 cuts letters of one alphabet, punctuation, Chinese and numbers apart', () => {
  const model = modelWith({ 'tokenizer.ggml.pre': text('deepseek-llm') });
  const tokenizer = model.tokenizer();
  const code = 'for größe in 漢字(2024):\n\treturn "x" + 12  ';
  assert.equal(tokenizer.decode(tokenizer.encode(code)), code);
  model.close();
});

describe('what is wrong', () => {
  const cases: Record<string, [Readonly<Record<string, Value>>, string]> = {
    'a merge of no token': [{ [MERGES_KEY]: text([...MERGES, 'Ġ <none>']) }, '"Ġ <none>"'],
    'a merge of one token': [{ [MERGES_KEY]: text(['Ġ']) }, `${MERGES_KEY}[0]`],
    'no merges': [{ [MERGES_KEY]: i32([1]) }, `${MERGES_KEY}: got `],
    'no tokens': [{ [TOKENS_KEY]: i32([1]) }, `${TOKENS_KEY}: expected a list of strings`],
    'a token too long': [{ [TOKENS_KEY]: text(['x'.repeat(7_000)]) }, 'got 7000 bytes'],
  };
  for (const [name, [changes, problem]] of Object.entries(cases)) {
    test(name, () => {
      const model = modelWith(changes);
      assertFails(() => model.tokenizer(), 'bad_model', problem);
      model.close();
    });
  }

  test('characters that are cut between two tokens', () => {
    const path = join(temporaryFolder(), 'model.gguf');
    const file = convert(join(FIXTURES, 'families/qwen3-yarn'), {
      [TOKENS_KEY]: text(['abcd\u00e9', 'x']),
    });
    // The last byte of the first text goes to the second.
    const at = file.indexOf('abcd\u00e9');
    const bytes = Buffer.concat([
      file.subarray(0, at - 8),
      Buffer.of(5, 0, 0, 0, 0, 0, 0, 0),
      file.subarray(at, at + 5),
      Buffer.of(2, 0, 0, 0, 0, 0, 0, 0),
      file.subarray(at + 5, at + 6),
      file.subarray(at + 14),
    ]);
    writeFileSync(path, bytes);
    assertFails(() => GgufModel.open(path), 'bad_model', `"${TOKENS_KEY}": not UTF-8`);
  });
});
