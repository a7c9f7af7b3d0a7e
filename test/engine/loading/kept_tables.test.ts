/** Tables of a tokenizer that were made once are read from then on, and never in place of others. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { TableFiles } from '../../../extension/engine/backend/table_files';
import type { KeptTables } from '../../../extension/engine/loading/kept_tables';
import { loadTokenizer, type Tokenizer } from '../../../extension/engine/loading/tokenizer';
import { SPROUT, temporaryFolder, writeFiles } from './model_fixture';

const TEXT = 'function größe(x) {\n\treturn `a${x}` + "\u{1f600}";\n} <|fim_middle|>';

/** The built-in tokenizer, made longer by blanks than what is not worth it. */
function setUp(): { model: string; cache: string } {
  const json = readFileSync(join(SPROUT, 'tokenizer.json'), 'utf8');
  const model = writeFiles(temporaryFolder(), {
    'tokenizer.json': json.padEnd(2_200_000),
    'tokenizer_config.json': readFileSync(join(SPROUT, 'tokenizer_config.json')),
  });
  return { model, cache: temporaryFolder() };
}

/** Counts what is found. */
class Counted implements KeptTables {
  found = 0;
  private readonly files: TableFiles;

  constructor(cache: string) {
    this.files = new TableFiles(cache);
  }

  recall(name: string) {
    const bytes = this.files.recall(name);
    if (bytes !== null) this.found++;
    return bytes;
  }

  keep(name: string, pieces: readonly Uint8Array[]) {
    this.files.keep(name, pieces);
  }
}

const filesIn = (cache: string) => readdirSync(join(cache, 'packed'));

function assertSame(got: Tokenizer, expected: Tokenizer): void {
  assert.equal(got.vocabSize, expected.vocabSize);
  assert.deepEqual(got.controlTexts, expected.controlTexts);
  assert.deepEqual(got.encode(TEXT), expected.encode(TEXT));
  assert.deepEqual(got.encodeTemplate(TEXT), expected.encodeTemplate(TEXT));
  for (let id = 0; id < expected.vocabSize; id++) {
    assert.deepEqual(got.tokenBytes(id), expected.tokenBytes(id));
    assert.equal(got.isSpecial(id), expected.isSpecial(id));
  }
}

test('the second tokenizer is made of what the first has kept, and is the same', () => {
  const { model, cache } = setUp();
  const [first, second] = [new Counted(cache), new Counted(cache)];
  const plain = loadTokenizer(model);
  assertSame(loadTokenizer(model, first), plain);
  assert.equal(filesIn(cache).length, 1);
  assertSame(loadTokenizer(model, second), plain);
  assert.deepEqual([first.found, second.found], [0, 1]);
});

test('a file that has changed has tables of its own', () => {
  const { model, cache } = setUp();
  loadTokenizer(model, new Counted(cache));
  const path = join(model, 'tokenizer.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace('<|fim_middle|>', '<|fim_muddle|>'));
  utimesSync(path, 1, 1);
  const kept = new Counted(cache);
  assert.deepEqual(loadTokenizer(model, kept).specialId('<|fim_muddle|>') === null, false);
  assert.equal(kept.found, 0);
  assert.equal(filesIn(cache).length, 2);
});

describe('a damaged file is removed and made again', () => {
  const damages: Record<string, (path: string) => void> = {
    'one bit': (path) => {
      const bytes = readFileSync(path);
      bytes.writeUInt8(bytes.readUInt8(5_000) ^ 1, 5_000);
      writeFileSync(path, bytes);
    },
    'a cut end': (path) => truncateSync(path, 10_000),
    'nothing left': (path) => truncateSync(path, 0),
  };
  for (const [name, spoil] of Object.entries(damages)) {
    test(name, () => {
      const { model, cache } = setUp();
      loadTokenizer(model, new Counted(cache));
      const path = join(cache, 'packed', filesIn(cache)[0] ?? '');
      const good = readFileSync(path);
      spoil(path);
      const kept = new Counted(cache);
      assertSame(loadTokenizer(model, kept), loadTokenizer(model));
      assert.equal(kept.found, 0);
      assert.deepEqual(readFileSync(path), good);
    });
  }
});

test('a folder that cannot be written is no error, and small files are not kept', () => {
  const { model, cache } = setUp();
  assertSame(loadTokenizer(model, new TableFiles('/proc/none')), loadTokenizer(model));
  loadTokenizer(SPROUT, new TableFiles(cache));
  assert.deepEqual(readdirSync(cache), []);
});
