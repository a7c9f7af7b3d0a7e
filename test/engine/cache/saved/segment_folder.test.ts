import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Segment } from '../../../../extension/engine/cache/saved/segment_file';
import { SegmentFolder } from '../../../../extension/engine/cache/saved/segment_folder';
import { SEGMENT_TOKENS, segmentKeys } from '../../../../extension/engine/cache/saved/segment_keys';

const BYTES = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
const range = (n: number, from = 0) => Array.from({ length: n }, (_, i) => from + i);

/** The segments of a text of `count` segments. */
function segments(count: number, from = 0): Segment[] {
  const tokens = range(count * SEGMENT_TOKENS, from);
  return segmentKeys('model', tokens).map((key, i) => ({
    key,
    tokens: tokens.slice(i * SEGMENT_TOKENS, (i + 1) * SEGMENT_TOKENS),
  }));
}
const only = (from = 0) => segments(1, from)[0] as Segment;
const blocksOf = (seed: number) => Uint8Array.from(range(BYTES), (i) => (i * 7 + seed) % 256);

let root: string;
const inside = () => join(root, 'sessions');
const fileOf = ({ key }: Segment) => join(inside(), `${key}.kv`);
const names = () => readdirSync(inside());
const open = (maxBytes = 2 ** 20) => new SegmentFolder({ folder: root, maxBytes });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'anllm-segments-'));
});
afterEach(() => {
  chmodSync(root, 0o700);
  rmSync(root, { recursive: true });
});

describe('segments on disk', () => {
  test('come back, are the user’s alone, and leave no draft', async () => {
    assert.ok(await open().write(only(), blocksOf(1)));
    assert.deepEqual(await open().read(only(), BYTES), Buffer.from(blocksOf(1)));
    assert.equal(statSync(fileOf(only())).mode & 0o777, 0o600);
    assert.equal(statSync(inside()).mode & 0o777, 0o700);
    assert.equal(names().length, 1);
    assert.equal(await open().read(only(5), BYTES), null);
  });

  test('that are damaged anywhere, cut, too long, or of another text are misses, and removed', async () => {
    const folder = open();
    await folder.write(only(), blocksOf(1));
    const good = readFileSync(fileOf(only()));
    const flipped = (at: number) => {
      const file = Buffer.from(good);
      file[at] = (file[at] ?? 0) ^ 1;
      return file;
    };
    await folder.write(only(9), blocksOf(2));
    const bad = [
      ...[0, 8, 39, 40, 71, 72, 583, 584, good.length - 1].map(flipped),
      good.subarray(0, 20),
      good.subarray(0, -1),
      Buffer.concat([good, Buffer.of(0)]),
      Buffer.alloc(0),
      readFileSync(fileOf(only(9))),
    ];
    for (const [i, file] of bad.entries()) {
      writeFileSync(fileOf(only()), file);
      assert.equal(await folder.read(only(), BYTES), null, `case ${i}`);
      assert.deepEqual(names().length, 1, `case ${i} is not removed`);
    }
    writeFileSync(fileOf(only()), good);
    assert.equal(await folder.read(only(), BYTES + 1), null, 'blocks of another size');
    assert.equal(names().length, 1);
  });

  test('keep within the limit: the least recently used go first, of one text the end', async () => {
    const size = 584 + BYTES;
    const folder = open(5 * size);
    const old = segments(3);
    for (const segment of old) await folder.write(segment, blocksOf(1));
    await folder.touch(old.map(({ key }) => key));
    const past = Date.now() - DAY_MS;
    for (const [i, segment] of old.entries()) {
      const time = new Date(past - i);
      utimesSync(fileOf(segment), time, time);
    }
    for (const segment of segments(3, 1000)) assert.ok(await folder.write(segment, blocksOf(2)));
    assert.ok(names().length <= 5);
    assert.deepEqual(await Promise.all(old.map(({ key }) => folder.has(key))), [true, true, false]);
    assert.equal(await open(size - 1).write(only(5000), blocksOf(3)), false);
  });

  test('that nobody has used for a week, and drafts of crashes, go when something is written', async () => {
    mkdirSync(inside());
    const files = { 'a.kv': 8, 'b.kv': 6, 'c.kv.77.tmp': 1, 'd.kv.78.tmp': 0 };
    for (const [name, days] of Object.entries(files)) {
      writeFileSync(join(inside(), name), 'x');
      const time = new Date(Date.now() - days * DAY_MS);
      utimesSync(join(inside(), name), time, time);
    }
    writeFileSync(join(inside(), 'notes.txt'), 'of somebody else');
    await open().write(only(), blocksOf(1));
    assert.deepEqual(
      names().sort(),
      [`${only().key}.kv`, 'b.kv', 'd.kv.78.tmp', 'notes.txt'].sort(),
    );
  });

  test('cannot be written where the disk does not take them, which is no error', async () => {
    writeFileSync(inside(), 'a file, not a folder');
    assert.equal(await open().write(only(), blocksOf(1)), false);
    assert.equal(await open().read(only(), BYTES), null);
    assert.deepEqual(await open().clear(), { files: 0, bytes: 0 });
  });

  test('are named by the model and by all tokens before', () => {
    const [first, second] = segmentKeys('model', range(2 * SEGMENT_TOKENS));
    assert.equal(segmentKeys('model', range(2 * SEGMENT_TOKENS - 1)).length, 1);
    assert.notEqual(segmentKeys('other', range(SEGMENT_TOKENS))[0], first);
    const changed = [7, ...range(2 * SEGMENT_TOKENS).slice(1)];
    assert.notEqual(segmentKeys('model', changed)[1], second);
    assert.deepEqual(segmentKeys('model', [...range(2 * SEGMENT_TOKENS), 1, 2]), [first, second]);
  });
});
