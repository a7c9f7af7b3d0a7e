import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childEnvironment } from '../../../extension/host/engine/environment';

test('nothing of the editor’s environment is loaded into the engine', () => {
  const env = childEnvironment({
    PATH: '/bin',
    HOME: '/home/me',
    NODE_OPTIONS: '--require /tmp/evil.js',
    NODE_PATH: '/tmp/evil',
    VSCODE_INSPECTOR_OPTIONS: '{}',
    LD_PRELOAD: '/tmp/evil.so',
    LD_AUDIT: '/tmp/evil.so',
    DYLD_INSERT_LIBRARIES: '/tmp/evil.dylib',
    DYLD_LIBRARY_PATH: '/tmp/evil',
    ANLLM_PREBUILD: '/tmp/evil',
  });
  assert.deepEqual(env, { PATH: '/bin', HOME: '/home/me', ELECTRON_RUN_AS_NODE: '1' });
});
