import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StopMatcher } from '../../../extension/engine/generation/stop';

/** Feeds the text in the given pieces; what was given out, and whether it stopped. */
function feed(stops: string[], pieces: string[]): { text: string; stopped: boolean } {
  const matcher = new StopMatcher(stops);
  let text = '';
  for (const piece of pieces) {
    const part = matcher.push(piece);
    text += part.text;
    if (part.stopped) return { text, stopped: true };
  }
  return { text: text + matcher.flush(), stopped: false };
}

test('a stop string ends the text before it, however it is split', () => {
  const whole = 'let a = 1;<END>more';
  for (let i = 0; i <= whole.length; i++) {
    for (let j = i; j <= whole.length; j++) {
      const pieces = [whole.slice(0, i), whole.slice(i, j), whole.slice(j)];
      assert.deepEqual(feed(['<END>'], pieces), { text: 'let a = 1;', stopped: true });
    }
  }
});

test('a beginning of a stop string is held back and given out when it leads nowhere', () => {
  const matcher = new StopMatcher(['\n\n']);
  assert.deepEqual(matcher.push('a\n'), { text: 'a', stopped: false });
  assert.deepEqual(matcher.push('b'), { text: '\nb', stopped: false });
  assert.deepEqual(matcher.push('\n'), { text: '', stopped: false });
  assert.equal(matcher.flush(), '\n');
});

test('the earliest of several stop strings wins', () => {
  assert.deepEqual(feed(['xyz', 'by'], ['abyxyz']), { text: 'a', stopped: true });
});

test('an empty stop string is no stop', () => {
  assert.deepEqual(feed([''], ['abc']), { text: 'abc', stopped: false });
});
