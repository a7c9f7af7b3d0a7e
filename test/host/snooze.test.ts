import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { Snooze } from '../../extension/host/snooze';

describe('snooze', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1e12 }));
  afterEach(() => mock.timers.reset());

  it('ends by itself and tells its start and end', () => {
    const snooze = new Snooze();
    const events: boolean[] = [];
    snooze.onChange((active) => events.push(active));
    snooze.start(5);
    assert(snooze.active);
    assert.equal(snooze.minutesLeft, 5);
    mock.timers.tick(4.5 * 60_000);
    assert.equal(snooze.minutesLeft, 1);
    mock.timers.tick(0.5 * 60_000);
    assert(!snooze.active);
    assert.equal(snooze.minutesLeft, 0);
    assert.deepEqual(events, [true, false]);
  });

  it('can be ended, and started again for longer', () => {
    const snooze = new Snooze();
    const events: boolean[] = [];
    snooze.onChange((active) => events.push(active));
    snooze.end();
    snooze.start(5);
    snooze.start(60);
    mock.timers.tick(10 * 60_000);
    assert(snooze.active);
    snooze.end();
    assert(!snooze.active);
    assert.deepEqual(events, [true, true, false]);
  });
});
