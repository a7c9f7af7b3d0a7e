import assert from 'node:assert/strict';
import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { GgufFile } from '../../../../extension/engine/loading/gguf/gguf_file';
import { assertFails, FIXTURES, temporaryFolder } from '../model_fixture';
import { f32, gguf, type GgufContent, text, u32, type Value } from './gguf_fixture';

const HOSTILE = join(FIXTURES, 'hostile-gguf');
const BLANK = 'expected 1 to 2^53 bytes of values';

/** What must be said about each corrupt file; null: the file is well-formed. */
const VERDICTS: Readonly<Record<string, string | null>> = {
  '00_ok': null,
  '01_empty': 'bad magic: got "", expected "GGUF"',
  '02_bad_magic': 'bad magic: got "FUGG", expected "GGUF"',
  '03_ver0': 'unsupported version: got 0, expected 2 or 3',
  '04_ver1': 'unsupported version: got 1, expected 2 or 3',
  '05_ver_future': 'unsupported version: got 4, expected 2 or 3',
  '06_big_endian': 'unsupported version: a big-endian file',
  '07_ntensors_max': 'tensors: got 18446744073709551615, which needs at least',
  '08_nkv_max': 'metadata keys: got 18446744073709551615, which needs at least',
  '09_ntensors_2p40': 'tensors: got 1099511627776, which needs at least',
  '10_nkv_2p40': 'metadata keys: got 1099511627776, which needs at least',
  '11_key_len_max': 'metadata key 0: got 18446744073709551615 bytes, file holds 32 more',
  '12_empty_key': 'metadata key 0: got "", expected 1 to 256 printable characters',
  '13_dup_key': 'metadata: key "general.architecture" twice',
  '14_kv_type_99': 'metadata "k": unknown value type 99, expected 0 to 12',
  '15_str_1GiB': 'metadata "k": got 1073741824 bytes, file holds 19 more',
  '16_arr_2p62': 'metadata "k": array length: got 4611686018427387904, which needs at least',
  '17_arr_nested': 'metadata "k": got an array of arrays',
  '18_strarr_2p60': 'metadata "k": array length: got 1152921504606846976, which needs at least',
  '19_align_0': 'metadata "general.alignment": got 0, expected a power of two from 8 to 65536',
  '20_align_13': 'metadata "general.alignment": got 13, expected a power of two',
  '21_align_i32': 'metadata "general.alignment": got value type 5, expected 4 (u32)',
  '22_align_2p31': 'metadata "general.alignment": got 2147483648, expected a power of two',
  '23_ndims_5': 'tensor "a": got 5 dimensions, expected 1 to 4',
  '24_dim_neg': `tensor "a": bad shape [18446744073709551615], ${BLANK}`,
  '25_elem_overflow': `tensor "a": bad shape [4294967296, 4294967296], ${BLANK}`,
  '26_nbytes_overflow': `tensor "a": bad shape [4611686018427387904], ${BLANK}`,
  '27_type_99': 'tensor "a": unknown type 99',
  '28_type_removed_4': 'tensor "a": unknown type 4',
  '29_q4_not_mult': 'tensor "a": 33 columns are no multiple of Q4_0\'s block of 32',
  '30_offset_unaligned': 'tensor "a": offset 4, expected 0',
  '31_offset_huge': 'tensor "a": offset 9223372036854775808, expected 0',
  '32_overlap': 'tensor "b": offset 0, expected 128',
  '33_gap': 'tensor "b": offset 256, expected 128',
  '34_dup_tensor': 'tensor "a": declared twice',
  '35_name_64': 'bad name of 64 bytes, expected 1 to 63 bytes',
  '36_truncated_data': 'tensor "a": needs the file to have 256 bytes, it has 148 (truncated)',
  '37_no_data': 'tensor "a": needs the file to have 4194432 bytes, it has 128 (truncated)',
  '38_zero_dim': `tensor "a": bad shape [0], ${BLANK}`,
  '39_bool_2': 'metadata "k": got bool 2, expected 0 or 1',
  '40_bad_utf8_key': 'metadata key 0: not UTF-8',
  '41_trunc_in_kv': 'metadata keys: got 1, which needs at least 14 bytes, file holds 8 more',
  '42_trailing': 'tensors cover 256 of 260 bytes (trailing data)',
};

test('every corrupt file ends in its own one-line error, every well-formed one opens', () => {
  const files = readdirSync(HOSTILE).map((name) => name.replace('.gguf', ''));
  assert.deepEqual(files.sort(), Object.keys(VERDICTS).sort());
  for (const [name, problem] of Object.entries(VERDICTS)) {
    const path = join(HOSTILE, `${name}.gguf`);
    if (problem === null) GgufFile.open(path).close();
    else assertFails(() => GgufFile.open(path), 'bad_model', `${path}: `, problem);
  }
});

function open(content: GgufContent | Uint8Array): GgufFile {
  const path = join(temporaryFolder(), 'model.gguf');
  writeFileSync(path, content instanceof Uint8Array ? content : gguf(content));
  return GgufFile.open(path);
}

test('metadata and tensors come back, in both versions and with another alignment', () => {
  for (const version of [2, 3]) {
    const file = open({
      version,
      alignment: 64,
      metadata: {
        'general.alignment': u32(64),
        name: text('größe'),
        list: text(['a', '', 'b']),
        big: { kind: 'u64', value: 2 ** 60 },
        half: f32(0.5),
      },
      tensors: [
        { name: 'v', shape: [3], data: new Uint8Array(Float32Array.of(1, -2, 3.5).buffer) },
        { name: 'q', type: 2, shape: [2, 64] },
      ],
    });
    assert.equal(file.metadata.get('name'), 'größe');
    assert.deepEqual(file.metadata.get('list'), ['a', '', 'b']);
    assert.equal(file.metadata.get('big'), 2n ** 60n); // a number would not be exact
    assert.equal(file.metadata.get('half'), 0.5);
    const [v, q] = [file.tensors.get('v'), file.tensors.get('q')];
    assert.ok(v !== undefined && q !== undefined);
    assert.deepEqual([q.type.name, q.shape, q.byteLength], ['Q4_0', [2, 64], 72]);
    const bytes = file.read(v.offset, v.byteLength);
    assert.deepEqual(new Float32Array(bytes.buffer), Float32Array.of(1, -2, 3.5));
    file.close();
  }
});

test('strings longer than what is read at a time', () => {
  const long = 'x'.repeat(3_000_000);
  const file = open({ metadata: { a: text(long), b: text('end') } });
  assert.equal(file.metadata.get('a'), long);
  assert.equal(file.metadata.get('b'), 'end');
  file.close();
});

test('headers too large to keep as files', () => {
  const keys = Array.from({ length: 60_000 }, (_, i): [string, Value] => [`k${i}`, u32(i)]);
  const cases: [string, GgufContent][] = [
    ['metadata keys: got 60000, expected at most 4096', { metadata: Object.fromEntries(keys) }],
    ['array length: got 1100000, expected at most', { metadata: { a: u8s(1_100_000) } }],
    ['name of tensor 0: not UTF-8', { tensors: [{ name: '\u00e9?', shape: [1] }] }],
  ];
  for (const [problem, content] of cases) {
    const bytes = gguf(content);
    // U+00E9 is two bytes; the second one alone is no UTF-8.
    if (problem.includes('UTF-8')) bytes[bytes.indexOf('é')] = 0x41;
    assertFails(() => open(bytes), 'bad_model', problem);
  }
});

const u8s = (count: number): Value => ({ kind: 'u8', value: new Uint8Array(count) });

test('a Git LFS pointer is called what it is', () => {
  const pointer = Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
  assertFails(() => open(pointer), 'bad_model', 'is a Git LFS pointer', 'git lfs pull');
});

test('a file cut at any byte is refused, and one that shrinks later is noticed', () => {
  const whole = gguf({ metadata: { k: text('v') }, tensors: [{ name: 'a', shape: [8] }] });
  for (let length = 0; length < whole.length; length++) {
    assertFails(() => open(whole.subarray(0, length)), 'bad_model');
  }
  const file = open(whole);
  truncateSync(file.path, 8);
  assertFails(() => file.read(0, 8), 'bad_model', 'changed while in use: got 8 bytes');
  file.close();
});

test('the padding after the last tensor may be missing', () => {
  const whole = gguf({ tensors: [{ name: 'a', shape: [3] }] });
  open(whole.subarray(0, whole.length - 20)).close();
});
