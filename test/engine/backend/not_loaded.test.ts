import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notLoaded } from '../../../extension/engine/backend/not_loaded';

const REASON = 'No native build was found';

test('a Mac says that the editor is the wrong one, or that its processor is', () => {
  const intel = { platform: 'darwin', arch: 'x64' };
  assert.match(notLoaded(REASON, { ...intel, cpu: 'VirtualApple @ 2.50GHz' }), /under Rosetta/);
  assert.match(notLoaded(REASON, { ...intel, cpu: 'Apple M1' }), /under Rosetta/);
  assert.match(
    notLoaded(REASON, { ...intel, cpu: 'Intel(R) Core(TM) i7-9750H' }),
    /Intel processors/,
  );
});

test('elsewhere the loader says why', () => {
  const host = { platform: 'darwin', arch: 'arm64', cpu: 'Apple M1' };
  assert.match(notLoaded(REASON, host), /cannot be loaded: No native build was found; reinstall/);
});
