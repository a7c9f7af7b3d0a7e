import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lintNative } from '../../scripts/check/native-lint.mjs';

const refused: readonly [file: string, line: string][] = [
  ['native/a.cpp', 'auto* p = new Thing();'],
  ['native/a.cpp', 'float* p = static_cast<float*>(malloc(4));'],
  ['native/a.cpp', 'delete p;'],
  ['native/a.cpp', 'printf("%d", 1);'],
  ['native/a.cpp', 'std::abort();'],
  ['native/a.cpp', 'if (qwen3) {'],
  ['metal/a.metal', 'double x = 1.0;'],
  ['metal/a.metal', 'auto f = [&](int i) { return i; };'],
  ['metal/a.metal', '  static int counter = 0;'],
  ['metal/a.metal', 'throw 1;'],
];

for (const [file, line] of refused) {
  test(`${file}: ${line}`, () => {
    assert.equal(lintNative(file, line).length, 1);
  });
}

const accepted: readonly [file: string, line: string][] = [
  ['native/a.cpp', 'Thing(const Thing&) = delete;'],
  ['native/a.cpp', '// a new Thing() would be malloc(4)'],
  ['native/a.cpp', 'throw Error("cannot printf() a double");'],
  ['native/a.cpp', '// Latent attention, from the DeepSeek-V2 paper'],
  ['native/aligned_buffer.cpp', 'void* p = aligned_alloc(64, size);'],
  ['native/a.cpp', 'double sum = 0;'],
  ['metal/a.metal', 'float x = values[i];'],
  ['metal/a.metal', 'static constexpr int kWidth = 32;'],
];

for (const [file, line] of accepted) {
  test(`accepts ${line}`, () => {
    assert.deepEqual(lintNative(file, line), []);
  });
}

test('a header guards itself and opens no namespace for its includers', () => {
  assert.deepEqual(lintNative('native/a.h', '#pragma once\nint x;\n'), []);
  assert.match(lintNative('native/a.h', 'int x;\n').join(), /#pragma once/);
  assert.match(lintNative('native/a.h', '#pragma once\nusing namespace std;\n').join(), /a\.h:2/);
});

test('a line has at most 110 columns, comments included', () => {
  assert.deepEqual(lintNative('native/a.cpp', `//${'x'.repeat(108)}`), []);
  assert.match(lintNative('native/a.cpp', `//${'x'.repeat(109)}`).join(), /111 columns/);
});
