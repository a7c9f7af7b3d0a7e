import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Debounce } from '../../../extension/host/completion/debounce';

function rhythm(intervalMs: number, latencyMs: number): number {
  const debounce = new Debounce();
  for (let i = 0; i < 50; i++) {
    debounce.keystroke(i * intervalMs);
    debounce.answered(latencyMs);
  }
  return debounce.delay();
}

describe('debounce', () => {
  it('does not wait while answers come faster than keys', () => assert.equal(rhythm(150, 60), 0));
  it('waits in a burst that the engine cannot follow', () => assert.equal(rhythm(60, 400), 60));
  it('never waits long', () => assert.equal(rhythm(200, 2000), 75));
  it('does not wait at first', () => assert.equal(new Debounce().delay(), 0));

  it('takes a pause for no rhythm', () => {
    const debounce = new Debounce();
    for (let i = 0; i < 50; i++) {
      debounce.keystroke(i * 60);
      debounce.answered(400);
    }
    debounce.keystroke(60_000);
    assert.equal(debounce.delay(), 60);
  });
});
