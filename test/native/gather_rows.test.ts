import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { Runner, TestProgram } from './harness';

test('gather_rows: the wanted rows in their order, none when none is wanted', async () => {
  const test = new TestProgram();
  const program = test.finish(test.embed(40, 40));
  const runner = await Runner.create(loadNativeBackend(), program, test.weights);
  const batch = runner.batch([{ tokens: [3, 1, 4, 1, 5], start: 0 }]);
  const all = await runner.executable.step(batch);
  const some = await runner.executable.step({ ...batch, logitRows: Int32Array.of(1, 4) });
  assert.deepEqual(some, Float32Array.from([...all.subarray(40, 80), ...all.subarray(160, 200)]));
  const none = await runner.executable.step({ ...batch, logitRows: Int32Array.of() });
  assert.equal(none.length, 0);
  assert.throws(() => runner.executable.hidden?.(), {
    code: 'bad_request',
    message: '[hidden] this program leaves no hidden states',
  });
  runner.executable.dispose();
  test.weights.close();
});
