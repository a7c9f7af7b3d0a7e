/** Weights that were packed once are mapped from then on, and never in place of others. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { cacheFolder, PackedCache } from '../../extension/engine/backend/packed_cache';
import { fuse } from '../../extension/engine/core/fuse';
import { buildProgram } from '../../extension/engine/core/models/registry';
import type { Program } from '../../extension/engine/core/program';
import { openModel } from '../../extension/engine/loading/open_model';
import type { WeightStore } from '../../extension/engine/loading/weights';
import { backendUnderTest, TestProgram } from './harness';

/** Only the CPU rounds activations. */
const hasNotes = backendUnderTest().name === 'cpu';

let folder = '';
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'anllm-packed-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const inFolder = (ending: string) =>
  readdirSync(join(folder, 'packed'))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, 'packed', name));
const files = () => inFolder('').filter((file) => !file.endsWith('.note'));
const notes = () => inFolder('.note');
const onlyFile = () => {
  const [file = '', ...more] = files();
  assert.equal(more.length, 0);
  return file;
};

function setUp(seed = 1): { model: TestProgram; program: Program } {
  const model = new TestProgram(seed);
  const coding = { bits: 4, groupSize: 64, scales: 'BF16' } as const;
  return { model, program: model.finish(model.linear(model.embed(64, 64), 64, coding)) };
}

async function logits(
  { model, program }: ReturnType<typeof setUp>,
  precision: 'fast' | 'exact' = 'fast',
  minBytes = 0,
): Promise<readonly number[]> {
  const executable = await backendUnderTest().compile(program, model.weights, {
    precision,
    kvBlocks: 1,
    maxTokens: 8,
    maxLogitRows: 8,
    threads: 2,
    packed: { folder, minBytes },
  });
  const result = await executable.step({
    tokens: Int32Array.of(3, 5),
    positions: Int32Array.of(0, 1),
    offsets: Int32Array.of(0, 2),
    blockTables: Int32Array.of(0),
    blocksPerSequence: 1,
    logitRows: Int32Array.of(0, 1),
  });
  executable.dispose();
  return [...result];
}

describe('the packed-weights cache', () => {
  test('the second load maps the file of the first, and computes the same', async () => {
    const model = setUp();
    const first = await logits(model);
    const file = onlyFile();
    const written = readFileSync(file);
    const { ino } = statSync(file);
    assert.deepEqual(await logits(model), first);
    assert.equal(statSync(file).ino, ino, 'the file was written again');
    assert.deepEqual(readFileSync(file), written);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('what is mapped is what the file says', async () => {
    const model = setUp();
    const first = await logits(model);
    await logits(setUp(2));
    const [a = '', b = ''] = files();
    // The one under the name of the other: whole by its own checksum.
    const swapped = readFileSync(a);
    writeFileSync(a, readFileSync(b));
    writeFileSync(b, swapped);
    assert.notDeepEqual(await logits(model), first);
  });

  for (const [damage, spoil] of [
    ['one bit', (file: string) => flip(file, 100)],
    ['the checksum', (file: string) => flip(file, statSync(file).size - 1)],
    ['the magic number', (file: string) => flip(file, statSync(file).size - 20)],
    ['a cut end', (file: string) => truncateSync(file, statSync(file).size - 1)],
    ['nothing left', (file: string) => truncateSync(file, 0)],
  ] as const) {
    test(`a damaged file is made anew: ${damage}`, async () => {
      const model = setUp();
      const first = await logits(model);
      const good = readFileSync(onlyFile());
      spoil(onlyFile());
      assert.deepEqual(await logits(model), first);
      assert.deepEqual(readFileSync(onlyFile()), good);
    });
  }

  test('other weights, another precision and a changed file have files of their own', async () => {
    const model = setUp();
    await logits(model);
    await logits(model, 'exact');
    await logits(setUp(2));
    assert.equal(files().length, 3);
    const { file } = model.model.weights;
    utimesSync(file, 1000, 1000);
    await logits(model);
    assert.equal(files().length, 4);
  });

  const skip = hasNotes ? false : 'nothing is found out';
  test('so are the bits of activations that a model was found to need', { skip }, async () => {
    const model = setUp();
    await logits(model);
    const [note = ''] = notes();
    const found = readFileSync(note, 'utf8');
    assert.match(found, /^activations 3: (8|16) (8|16)$/);
    for (const other of ['activations 3: 8 8', 'activations 3: 16 16', 'nonsense']) {
      writeFileSync(note, other);
      await logits(model);
      const expected = other === 'nonsense' ? found : other;
      assert.equal(readFileSync(note, 'utf8'), expected);
    }
    await logits(model, 'exact');
    assert.equal(notes().length, 1);
  });

  test('what is left for later has 16 bits, and is found out once', { skip }, async () => {
    const { program, model } = setUp();
    const compile = (calibration: 'now' | 'later', minBytes = 0) =>
      backendUnderTest().compile(program, model.weights, {
        precision: 'fast',
        kvBlocks: 2,
        maxTokens: 24,
        maxLogitRows: 8,
        threads: 2,
        packed: { folder, minBytes },
        calibration,
      });
    const first = await compile('later');
    assert.deepEqual(first.activationBits, { attention: 16, others: 16 });
    assert.deepEqual(notes(), []);
    const small = await compile('later', 1 << 20);
    assert.equal(small.openCalibration, undefined, 'a small model is not worth waiting');
    rmSync(notes()[0] ?? '');
    await first.openCalibration?.run();
    const found = first.activationBits;
    assert.equal(notes().length, 1);
    first.dispose(); // the weights are written before it ends
    assert.equal(first.openCalibration?.isPacked(), true);
    rmSync(notes()[0] ?? '');
    // Nobody came to it: the second load, which packs nothing, finds it out.
    const second = await compile('later');
    assert.deepEqual([second.activationBits, second.openCalibration], [found, undefined]);
    assert.equal(notes().length, 1);
    second.dispose();
    small.dispose();
  });

  test('of small models, what they need is remembered, and nothing else', { skip }, async () => {
    const model = setUp();
    await logits(model, 'fast', 1 << 20);
    assert.deepEqual(files(), []);
    const [note = ''] = notes();
    writeFileSync(note, 'activations 3: 16 16');
    await logits(model, 'fast', 1 << 20);
    assert.equal(readFileSync(note, 'utf8'), 'activations 3: 16 16', 'it was found out again');
    await logits(setUp(2), 'fast', 1 << 20);
    assert.equal(notes().length, 2);
  });

  test('what nobody has asked for in months is forgotten', { skip }, async () => {
    await logits(setUp());
    for (const note of notes()) utimesSync(note, 1000, 1000);
    await logits(setUp(2));
    assert.equal(notes().length, 1);
  });

  test('a folder that cannot be written is no error', async () => {
    writeFileSync(join(folder, 'packed'), 'a file in its place');
    const first = await logits(setUp());
    rmSync(join(folder, 'packed'));
    assert.deepEqual(await logits(setUp()), first);
  });

  test('a place where no folder can be made is no error, and no endless loop', () => {
    const { program, model } = setUp();
    const weights = program.weights.map(({ name }) => model.weights.weight(name));
    const cache = new PackedCache({ folder: '/proc/none/deeper', minBytes: 0 });
    const { file } = cache.entryFor(backendUnderTest().name, program, weights, 'fast');
    assert.equal(file, '');
  });

  test('parts of tensors are not read when they are packed, and are when the file is damaged', async () => {
    const path = resolve(__dirname, '../fixtures/families/qwen3-next');
    const load = async () => {
      const model = openModel(path);
      const program = fuse(buildProgram(model.config(), model.weights));
      const read: string[] = [];
      const store: WeightStore = {
        has: (name) => model.weights.has(name),
        weight: (...of) => model.weights.weight(...of),
        read(tensor) {
          read.push(tensor.name);
          return model.weights.read(tensor);
        },
        assertAllUsed: () => {},
        close: () => {},
      };
      const executable = await backendUnderTest().compile(program, store, {
        precision: 'exact',
        kvBlocks: 1,
        maxTokens: 4,
        maxLogitRows: 4,
        threads: 2,
        packed: { folder, minBytes: 0 },
      });
      const result = await executable.step({
        tokens: Int32Array.of(3, 5),
        positions: Int32Array.of(0, 1),
        offsets: Int32Array.of(0, 2),
        blockTables: Int32Array.of(0),
        blocksPerSequence: 1,
        logitRows: Int32Array.of(1),
        stateSlots: Int32Array.of(0),
      });
      executable.dispose();
      model.close();
      return { read, logits: [...result] };
    };
    const first = await load();
    assert.ok(first.read.some((name) => name.endsWith('in_proj_qkvz.weight')));
    const second = await load();
    assert.deepEqual(second, { read: [], logits: first.logits });
    flip(onlyFile(), 1_000);
    assert.deepEqual(await load(), first);
  });

  test('a file that cannot be read is no error', async () => {
    const model = setUp();
    const first = await logits(model);
    chmodSync(onlyFile(), 0);
    assert.deepEqual(await logits(model), first);
  });

  test('the least recently used are removed when there is too much, and old drafts', async () => {
    const used = setUp(1);
    await logits(used);
    const size = statSync(onlyFile()).size;
    await logits(setUp(2));
    const draft = join(folder, 'packed', 'x.weights.1.tmp');
    writeFileSync(draft, 'half');
    for (const file of files()) utimesSync(file, 1000, 1000);
    const { program, model } = used;
    const weights = program.weights.map(({ name }) => model.weights.weight(name));
    const cache = new PackedCache({ folder, minBytes: 0, maxBytes: 1.5 * size });
    const { file: kept } = cache.entryFor(backendUnderTest().name, program, weights, 'fast');
    assert.deepEqual(files(), [kept]);
    assert.deepEqual(cache.clear(), { files: 1, bytes: size });
    assert.deepEqual(inFolder(''), []);
  });

  test('the folder is the system’s own for caches, or what ANLLM_CACHE says', () => {
    assert.equal(cacheFolder({ ANLLM_CACHE: '/x' }), '/x');
    if (process.platform === 'linux')
      assert.equal(cacheFolder({ XDG_CACHE_HOME: '/c' }), '/c/anllm');
  });
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}
