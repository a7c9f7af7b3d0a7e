import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateGyp } from '../../scripts/lib/gyp.mjs';

const file = `
# An addon with kernels for one instruction set.
{
  'variables': { 'kernels': ['native/add.cpp'], 'standard': 'c++20' },
  'target_defaults': {
    'include_dirs': ['native', '<!(node -p "1")'],
    'cflags_cc!': ['-fno-exceptions'],
    'cflags_cc': ['-std=<(standard)'],
    'xcode_settings': { 'CLANG_CXX_LANGUAGE_STANDARD': '<(standard)' },
  },
  'targets': [
    {
      'target_name': 'addon',
      'sources': ['native/addon.cpp'],
      'defines': ['NAPI_VERSION=8'],
      'conditions': [
        ['target_arch=="x64" and OS=="linux"', { 'dependencies': ['avx2'] }, { 'sources': ['native/neon.cpp'] }],
      ],
    },
    { 'target_name': 'avx2', 'type': 'static_library', 'sources': ['<@(kernels)'], 'cflags': ['-mavx2'] },
  ],
}
`;

test('variables, defaults, conditions and dependencies give one list of sources with their flags', () => {
  assert.deepEqual(evaluateGyp(file, { OS: 'linux', target_arch: 'x64' }), {
    name: 'addon',
    units: [
      {
        target: 'addon',
        source: 'native/addon.cpp',
        flags: ['-std=c++20', '-DNAPI_VERSION=8', '-Inative'],
      },
      {
        target: 'avx2',
        source: 'native/add.cpp',
        flags: ['-mavx2', '-std=c++20', '-Inative'],
      },
    ],
  });
});

test('a Mac takes its flags from xcode_settings, and the other branch of a condition', () => {
  assert.deepEqual(evaluateGyp(file, { OS: 'mac', target_arch: 'arm64' }), {
    name: 'addon',
    units: ['native/addon.cpp', 'native/neon.cpp'].map((source) => ({
      target: 'addon',
      source,
      flags: ['-std=c++20', '-DNAPI_VERSION=8', '-Inative'],
    })),
  });
});
