import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesOf } from '../../../extension/host/edit/name_answer';

test('names come out of every way to list them, each once, and never the present one', () => {
  const answer = '1. `totalPrice`\n2) sum\n- total_price\n* `sum`: shorter\n\nx\nπ2\n"quoted"';
  assert.deepEqual(namesOf(answer, 'x'), ['totalPrice', 'sum', 'total_price', 'π2', 'quoted']);
  assert.deepEqual(namesOf('', 'x'), []);
  assert.equal(
    namesOf(Array.from({ length: 20 }, (_, at) => `name${at}`).join('\n'), '').length,
    8,
  );
});
