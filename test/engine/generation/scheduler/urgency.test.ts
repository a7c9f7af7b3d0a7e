import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UrgencyQueue } from '../../../../extension/engine/generation/scheduler/urgency';

test('the order is by rank, then by arrival, also for one that comes back', () => {
  const queue = new UrgencyQueue<{ rank: number; arrival: number }>();
  const [a, b, c, d] = [
    { rank: 1, arrival: 0 },
    { rank: 0, arrival: 3 },
    { rank: 1, arrival: 1 },
    { rank: 3, arrival: 2 },
  ] as const;
  for (const item of [c, d, b]) queue.add(item);
  queue.add(a);
  assert.deepEqual([...queue], [b, a, c, d]);
  assert.equal(queue.last, d);
  assert.equal(queue.delete(a), true);
  assert.equal(queue.delete(a), false);
  assert.equal(queue.size, 3);
});
