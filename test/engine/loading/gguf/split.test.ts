import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isLaterPart, openGgufParts } from '../../../../extension/engine/loading/gguf/split';
import { assertFails, temporaryFolder, writeFiles } from '../model_fixture';
import { gguf, i32, u16 } from './gguf_fixture';

/** Part `number` (from 0) of `count`, with one tensor. */
const part = (number: number, count: number, tensor = `t${number}`) =>
  gguf({
    metadata: {
      'split.no': u16(number),
      'split.count': u16(count),
      'split.tensors.count': i32(count),
    },
    tensors: [{ name: tensor, shape: [4] }],
  });

const name = (number: number, count: number) =>
  `m-${String(number + 1).padStart(5, '0')}-of-${String(count).padStart(5, '0')}.gguf`;

function folderWith(parts: readonly Buffer[]): string {
  const files = Object.fromEntries(parts.map((content, i) => [name(i, parts.length), content]));
  return writeFiles(temporaryFolder(), files);
}

const first = (folder: string, count = 3) => join(folder, name(0, count));

test('all parts of a split model are opened', () => {
  const parts = openGgufParts(first(folderWith([part(0, 3), part(1, 3), part(2, 3)])));
  assert.deepEqual(
    parts.flatMap(({ tensors }) => [...tensors.keys()]),
    ['t0', 't1', 't2'],
  );
  for (const file of parts) file.close();
  assert.equal(isLaterPart(name(0, 3)), false);
  assert.equal(isLaterPart(name(1, 3)), true);
  assert.equal(isLaterPart('model.gguf'), false);
});

test('missing, swapped and repeated parts are named', () => {
  const missing = folderWith([part(0, 3), part(1, 3), part(2, 3)]);
  rmSync(join(missing, name(1, 3)));
  const open = (folder: string) => () => openGgufParts(first(folder));
  assertFails(open(missing), 'bad_model', `${name(1, 3)}: missing: download the model again`);
  const twice = folderWith([part(0, 3), part(1, 3), part(1, 3)]);
  assertFails(open(twice), 'bad_model', name(2, 3), '"split.no": got 1, expected 2');
  const same = folderWith([part(0, 3), part(1, 3), part(2, 3, 't0')]);
  assertFails(open(same), 'bad_model', `tensor "t0": also in ${name(0, 3)}`);
  const later = folderWith([part(1, 3), part(1, 3), part(2, 3)]);
  assertFails(open(later), 'bad_model', 'got 1, expected 0; give the first part of the model');
  const alone = writeFiles(temporaryFolder(), { 'm.gguf': part(0, 3) });
  const problem = 'one of 3 parts of a model: expected its name to be NAME-00001-of-00003.gguf';
  assertFails(() => openGgufParts(join(alone, 'm.gguf')), 'bad_model', problem);
  const fewer = folderWith([
    part(0, 3),
    part(1, 3),
    gguf({ metadata: { 'split.no': u16(2), 'split.count': u16(3) } }),
  ]);
  assertFails(open(fewer), 'bad_model', '"split.tensors.count": got 3, expected 2');
});
