import { test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';

test('add: sums of two values, odd rows and the same value twice', async () => {
  const program = new TestProgram();
  const cols = 45;
  const a = program.embed(cols, cols);
  const b = program.linear(a, cols);
  const sum = program.value(cols);
  program.push({ op: 'add', a, b, out: sum });
  const out = program.value(cols);
  program.push({ op: 'add', a: sum, b: sum, out });
  const steps = [1, 77].map((count) => [{ tokens: randomTokens(count, cols), start: 0 }]);
  await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
});
