import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Backoff } from '../../../extension/host/engine/backoff';

describe('back-off', () => {
  it('is nothing, then half a second, doubled up to thirty seconds', () => {
    const backoff = new Backoff();
    const waits = Array.from({ length: 10 }, () => {
      backoff.crashed(0);
      return backoff.wait(0);
    });
    assert.deepEqual(waits, [0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('runs down', () => {
    const backoff = new Backoff();
    backoff.crashed(0);
    backoff.crashed(1000);
    assert.equal(backoff.wait(1200), 300);
    assert.equal(backoff.wait(1600), 0);
  });

  it('starts anew after a minute of health, and when the user restarts', () => {
    const backoff = new Backoff();
    for (let i = 0; i < 5; i++) backoff.crashed(0);
    backoff.started(1000);
    backoff.crashed(61_000);
    assert.equal(backoff.wait(61_000), 0);
    for (let i = 0; i < 5; i++) backoff.crashed(61_000);
    backoff.reset();
    assert.equal(backoff.wait(61_000), 0);
  });
});
