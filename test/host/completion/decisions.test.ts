import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DecisionLog,
  explain,
  renderDecisions,
  type Decision,
} from '../../../extension/host/completion/decisions';
import { EMPTY_REASONS } from '../../../extension/protocol/completion';

const DECISION: Decision = {
  at: 0,
  path: 'src/a.ts',
  line: 3,
  column: 7,
  invoked: false,
  outcome: { kind: 'nothing', reason: 'repeats_suffix' },
  elapsedMs: 41.4,
  waitedMs: 12,
  result: null,
};

describe('why no suggestion', () => {
  it('has a sentence for every reason', () => {
    for (const reason of EMPTY_REASONS) assert.match(explain(reason), /^[A-Z].*\.$/);
    assert.match(explain('engine', 'the engine crashed'), /the engine crashed$/);
  });

  it('says the last reason first, then the history', () => {
    const text = renderDecisions([
      DECISION,
      { ...DECISION, outcome: { kind: 'shown', text: '\na | `b`', from: 'cache' }, line: 9 },
    ]);
    assert.match(text, /^# Why no suggestion\?\n\nThe model only repeated what stands after/);
    assert.match(text, /src\/a\.ts:3:7 \|.*41 ms, of which waited 12/);
    assert.match(text, /src\/a\.ts:9:7 \| shown, from the cache: `a ' 'b'` \|/);
  });

  it('says so when nothing was asked yet', () => {
    assert.match(renderDecisions([]), /No suggestion was asked for yet/);
  });

  it('keeps the last fifty', () => {
    const log = new DecisionLog();
    for (let line = 1; line <= 60; line++) log.add({ ...DECISION, line });
    assert.equal(log.all.length, 50);
    assert.equal(log.all[0]?.line, 60);
  });
});
