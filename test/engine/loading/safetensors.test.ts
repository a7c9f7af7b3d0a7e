import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSafetensors, SafetensorsFile } from '../../../extension/engine/loading/safetensors';
import {
  assertFails,
  f32,
  FIXTURES,
  safetensors,
  temporaryFolder,
  withHeader,
  writeFiles,
} from './model_fixture';

const HOSTILE = join(FIXTURES, 'hostile');

/** What must be said about each corrupt file; null: the file is well-formed. */
const VERDICTS: Readonly<Record<string, string | null>> = {
  '00_ok': null,
  '01_empty': 'header too small: got 0 bytes, expected at least 8',
  '02_seven_bytes': 'header too small: got 7 bytes',
  '03_len_2p63': 'header too large: got 9223372036854775808 bytes',
  '04_len_max': 'header too large: got 18446744073709551615 bytes',
  '05_len_gt_file': 'header says 1000 bytes, file holds 73',
  '06_len_100000001': 'header too large: got 100000001 bytes',
  '07_len_zero': 'header: must begin with "{"',
  '08_not_json': 'header: not JSON',
  '09_not_utf8': 'header: must begin with "{"',
  '10_array_header': 'header: must begin with "{"',
  '11_neg_offset': 'tensor "a": bad data_offsets [-16,0]',
  '12_reversed': 'tensor "a": bad data_offsets [16,0]',
  '13_past_eof': 'tensors cover 129 of 81 bytes (truncated)',
  '14_overlap': 'tensor "b": starts at 121, expected 137 (overlap)',
  '15_partial_overlap': 'tensor "b": starts at 125, expected 133 (overlap)',
  '16_hole': 'tensor "b": starts at 133, expected 125 (hole)',
  '17_trailing': 'tensors cover 81 of 93 bytes (trailing data)',
  '18_truncated': 'tensors cover 81 of 79 bytes (truncated)',
  '19_size_mismatch': 'tensor "a": data_offsets: got 8 bytes, expected 16',
  '20_unknown_dtype': 'tensor "a": unknown dtype "Q9_K"',
  '21_shape_overflow': 'got 0 bytes, expected 73786976294838206464',
  '22_shape_wrap_u64': 'tensor "a": bad shape [2,18446744073709552000]',
  '23_neg_dim': 'tensor "a": bad shape [-2,-2]',
  '24_float_dim': null, // JavaScript reads 2.0 as 2
  '25_dup_key': '(hole)',
  '26_meta_nonstring': '__metadata__: must map strings to strings',
  '27_three_offsets': 'tensor "a": bad data_offsets [0,16,16]',
  '28_missing_shape': 'tensor "a": bad shape undefined',
  '29_proto_name': null, // a name is data
  '30_path_name': null,
  '31_zero_dim': null, // shapes are the checkpoint's business
  '32_scalar': null,
  '35_nan_scales': null, // and so are values
  '37_odd_header_unaligned': null,
  '38_leading_space': 'header: must begin with "{"',
  '39_nul_in_name': 'tensor "a\\u0000b": bad name',
};

test('every corrupt file ends in its own one-line error, every well-formed one opens', () => {
  const files = readdirSync(HOSTILE).filter((name) => name.endsWith('.safetensors'));
  assert.deepEqual(
    files.map((name) => name.replace('.safetensors', '')).sort(),
    Object.keys(VERDICTS).sort(),
  );
  for (const [name, problem] of Object.entries(VERDICTS)) {
    const path = join(HOSTILE, `${name}.safetensors`);
    if (problem === null) openSafetensors(path).close();
    else assertFails(() => openSafetensors(path), 'bad_model', `${path}: `, problem);
  }
});

test('headers too large to keep as files', () => {
  const folder = temporaryFolder();
  const same = { dtype: 'U8', shape: [1], data_offsets: [0, 1] };
  const cases: [string, Buffer][] = [
    ['must begin with "{"', withHeader('['.repeat(100_000) + ']'.repeat(100_000))],
    [
      'bad shape',
      withHeader(
        JSON.stringify({ a: { ...same, shape: Array(100_000).fill(1) } }),
        Buffer.alloc(1),
      ),
    ],
    [
      'got 70000 tensors, expected at most 65536',
      withHeader(
        JSON.stringify(
          Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`w${i}`, same])),
        ),
      ),
    ],
    ['not UTF-8', withHeader(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]))],
    [
      'unknown dtype "constructor"',
      withHeader('{"a":{"dtype":"constructor","shape":[],"data_offsets":[0,0]}}'),
    ],
    ['unknown dtype null', withHeader('{"a":{"dtype":null,"shape":[],"data_offsets":[0,0]}}')],
    ['got null, expected an object', withHeader('{"a":null}')],
    ['bad name', withHeader(JSON.stringify({ ['x'.repeat(1_000_000)]: same }), Buffer.alloc(1))],
  ];
  for (const [problem, content] of cases) {
    const path = join(folder, 'model.safetensors');
    writeFileSync(path, content);
    assertFails(() => openSafetensors(path), 'bad_model', problem);
  }
});

test('a Git LFS pointer is called what it is', () => {
  const path = join(temporaryFolder(), 'model.safetensors');
  writeFileSync(path, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
  assertFails(() => openSafetensors(path), 'bad_model', 'is a Git LFS pointer', 'git lfs pull');
});

test(
  'only regular files inside the model folder are read',
  { skip: process.platform === 'win32' },
  () => {
    const folder = temporaryFolder();
    const elsewhere = join(temporaryFolder(), 'x.safetensors');
    writeFileSync(elsewhere, safetensors({ a: f32([2]) }));
    mkdirSync(join(folder, 'folder'));
    execFileSync('mkfifo', [join(folder, 'fifo')]); // must not block
    symlinkSync('/dev/zero', join(folder, 'device'));
    symlinkSync(elsewhere, join(folder, 'outside'));
    for (const name of ['folder', 'fifo', 'device', 'outside']) {
      const open = () => SafetensorsFile.open(join(folder, name), folder);
      assertFails(open, 'bad_model', name, 'not a regular file inside the allowed root');
    }
    symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
    assertFails(() => openSafetensors(join(folder, 'dangling')), 'bad_model', 'missing');
  },
);

test('a snapshot of the Hugging Face cache links to the blobs of its own repository only', () => {
  const cache = temporaryFolder();
  const content = safetensors({ a: f32([2], [1, 2]) });
  writeFiles(cache, {
    'models--org--name/blobs/abc': content,
    'models--other--name/blobs/abc': content,
  });
  const snapshot = join(cache, 'models--org--name/snapshots/1');
  mkdirSync(snapshot, { recursive: true });
  symlinkSync('../../blobs/abc', join(snapshot, 'model.safetensors'));
  symlinkSync('../../../models--other--name/blobs/abc', join(snapshot, 'stolen.safetensors'));
  const file = openSafetensors(join(snapshot, 'model.safetensors'));
  assert.deepEqual([...file.read('a').data], [1, 2]);
  file.close();
  assertFails(
    () => openSafetensors(join(snapshot, 'stolen.safetensors')),
    'bad_model',
    'not a regular file inside',
  );
});

test('values come back whatever the alignment, and a file that shrinks is noticed', () => {
  const path = join(temporaryFolder(), 'golden.safetensors');
  // The odd name length makes the data start at an odd offset.
  writeFileSync(path, safetensors({ abc: f32([2, 2], [1, -2, 3.5, 4]), b: f32([1], [7]) }));
  const file = openSafetensors(path);
  assert.deepEqual(file.read('abc'), { shape: [2, 2], data: Float32Array.of(1, -2, 3.5, 4) });
  assertFails(() => file.read('c'), 'bad_model', 'tensor "c": missing');
  writeFileSync(path, 'short');
  assertFails(() => file.read('b'), 'bad_model', 'changed while in use: got 5 bytes');
  file.close();
});
