import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemList } from '../../../extension/host/chat/problem_list';

test('errors come first, each with its line', () => {
  const problems = [
    { line: 0, message: 'unused', severity: 1 },
    { line: 1, message: 'no such name', severity: 0 },
  ];
  assert.equal(
    problemList(problems, ['let a;', '  b();']),
    'line 2: error: no such name\n    b();\nline 1: warning: unused\n    let a;',
  );
});

test('a line that is gone has no text, and of thousands some are shown', () => {
  assert.equal(problemList([{ line: 9, message: 'old', severity: 3 }], ['']), 'line 10: hint: old');
  const many = Array.from({ length: 5000 }, (_, line) => ({ line, message: 'x', severity: 0 }));
  const lines = problemList(many, []).split('\n');
  assert.deepEqual([lines.length, lines.at(-1)], [201, 'and 4800 more']);
});
