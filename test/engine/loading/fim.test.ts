import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFim, fimPrompt } from '../../../extension/engine/loading/fim';
import { readManifest } from '../../../extension/engine/loading/manifest';
import { loadTokenizer, type Tokenizer } from '../../../extension/engine/loading/tokenizer';
import { assertFails, SPROUT, temporaryFolder, writeFiles } from './model_fixture';

/** A tokenizer that knows only these control tokens, with ids from 100. */
function withControls(...contents: string[]): Tokenizer {
  return loadTokenizer(
    writeFiles(temporaryFolder(), {
      'tokenizer.json': {
        added_tokens: contents.map((content, i) => ({ id: 100 + i, content, special: false })),
        model: { type: 'BPE', vocab: { a: 0 }, merges: [] },
      },
    }),
  );
}

const NOTHING = { title: 'x', fim: null };

test('the embedded model declares suffix first', () => {
  const fim = findFim(loadTokenizer(SPROUT), readManifest(SPROUT));
  assert.ok(fim !== null);
  assert.equal(fim.order, 'suffix-first');
  assert.deepEqual(fim.layout, [16323, 16325, 'suffix', 16324, 'prefix']);
  assert.deepEqual([fim.fileSep, fim.repoName], [16328, 16327]);
  assert.deepEqual(fimPrompt(fim, [1, 2], [3]), [16323, 16325, 3, 16324, 1, 2]);
  // End of text, end of turn, padding, file, repository and the gap's own tokens all end a completion.
  for (const id of [16320, 16322, 16323, 16324, 16325, 16326, 16327, 16328])
    assert.ok(fim.stopIds.includes(id));
});

test('each family by its own tokens', () => {
  const families: [string[], (number | string)[]][] = [
    [
      ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
      [100, 'prefix', 101, 'suffix', 102],
    ],
    [
      ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
      [100, 'prefix', 101, 'suffix', 102],
    ],
    [
      ['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
      [100, 'prefix', 101, 'suffix', 102],
    ],
    [
      ['▁<PRE>', '▁<SUF>', '▁<MID>'],
      [100, 'prefix', 101, 'suffix', 102],
    ],
    [
      ['<[fim-prefix]>', '<[fim-suffix]>', '<[fim-middle]>'],
      [101, 'suffix', 100, 'prefix', 102],
    ],
    [
      ['[PREFIX]', '[SUFFIX]'],
      [101, 'suffix', 100, 'prefix'],
    ],
  ];
  for (const [tokens, layout] of families) {
    assert.deepEqual(findFim(withControls(...tokens), NOTHING)?.layout, layout, tokens[0]);
  }
});

test('a tokenizer without all of the tokens cannot fill in, whatever the model is called', () => {
  const half = withControls('<|fim_prefix|>', '<|fim_suffix|>');
  assert.equal(findFim(half, { title: 'Qwen2.5-Coder-7B', fim: null }), null);
});

test('a manifest that names what the tokenizer lacks', () => {
  const tokenizer = withControls('<P>', '<S>', '<M>', '<F>');
  const find = (fim: object) => () =>
    findFim(tokenizer, readManifest(writeFiles(temporaryFolder(), { 'anllm.json': { fim } })));
  assert.deepEqual(
    find({ template: '<S>{suffix}<P>{prefix}<M>', fileHeader: '<F>{path}\n' })()?.fileSep,
    103,
  );
  assertFails(
    find({ template: '<P>{prefix}<X>{suffix}' }),
    'bad_model',
    'anllm.json: fim.template: got "<P>{prefix}<X>',
  );
  assertFails(
    find({ template: '<P>{prefix}<M>' }),
    'bad_model',
    'expected {prefix} and {suffix} once each',
  );
  assertFails(
    find({ template: '<P>{prefix}<S>{suffix}', fileHeader: '# {path}\n' }),
    'bad_model',
    'fim.fileHeader',
  );
  assertFails(find({}), 'bad_model', 'fim.template: missing');
});

test('a model is called by its manifest, its repository or its folder', () => {
  const hub = writeFiles(temporaryFolder(), { 'models--org--a-b/snapshots/1/config.json': {} });
  assert.equal(readManifest(`${hub}/models--org--a-b/snapshots/1`).title, 'org/a-b');
  assert.equal(readManifest('/models/mine').title, 'mine');
  assert.equal(readManifest(SPROUT).title, 'Sprout 40M (built in)');
});
