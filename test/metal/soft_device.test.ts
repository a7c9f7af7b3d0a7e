import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Random } from './numbers';
import { Runner, RunnerError, skip } from './runner';

const floats = new Random(1).floats(64);

describe('soft device', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  const run = (kernel: string, { groups = 1, dispatches = 1, hasBarriers = true } = {}) =>
    runner.run({
      op: 'fault',
      texts: { kernel },
      numbers: { groups, dispatches, has_barriers: hasBarriers ? 1 : 0 },
      inputs: { x: floats },
      outputs: { out: floats.byteLength },
    });

  it('runs threads that share memory', async () => {
    const { out } = await run('fault_none');
    assert.deepEqual(new Float32Array((out as Buffer).buffer), floats.slice().reverse());
  });

  const faults: Readonly<Record<string, RegExp>> = {
    fault_read_beyond: /thread 63: reads 4 bytes at offset 256 of buffer 0, which has 256 bytes$/,
    fault_write_beyond: /thread 32: writes 4 bytes at offset 256 of buffer 1/,
    fault_misaligned: /thread 0: reads 16 bytes at offset 4 of buffer 0.*misaligned$/,
    fault_barrier_not_reached:
      /diverges: thread 0 waits at the barrier of faults.metal:\d+, thread 40 has ended$/,
    fault_two_barriers:
      /diverges: thread 0 waits at the barrier of faults.metal:\d+, thread 32 waits/,
    fault_lane_missing: /diverges: thread 0 has ended, thread 4 waits for its simdgroup/,
    fault_uninitialised:
      /thread 5: reads threadgroup memory at offset 20 that no thread of the group has written$/,
    // The other simdgroup runs later: what it would have written is not there yet.
    fault_read_race:
      /thread 31: reads threadgroup memory at offset 128 that no thread of the group has written$/,
    fault_write_race:
      /thread \d+: \w+ threadgroup memory at offset \d+, which .* without a barrier between$/,
    fault_threadgroup_beyond:
      /thread 63: writes 4 bytes at offset 252 of the 252 bytes of threadgroup memory$/,
  };
  for (const [kernel, message] of Object.entries(faults)) {
    it(`finds ${kernel.replace('fault_', '').replaceAll('_', ' ')}`, async () => {
      await assert.rejects(run(kernel), (error) => {
        assert.ok(error instanceof RunnerError);
        assert.match(error.message, message);
        assert.match(error.message, new RegExp(`^${kernel}, threadgroup \\(0, 0, 0\\)`));
        return true;
      });
    });
  }

  it('finds threadgroups that write the same memory', async () => {
    await assert.rejects(
      run('fault_group_race', { groups: 2 }),
      /threadgroup 0 of fault_group_race uses/,
    );
  });

  it('finds a missing barrier between dispatches', async () => {
    await assert.rejects(
      run('fault_none', { dispatches: 2, hasBarriers: false }),
      /writes offset .* of buffer 1, which threadgroup 0 of fault_none uses without a barrier between$/,
    );
    await run('fault_none', { dispatches: 2 });
  });

  it('goes on after a fault', async () => {
    await assert.rejects(run('fault_barrier_not_reached'));
    const { out } = await run('fault_none');
    assert.deepEqual(new Float32Array((out as Buffer).buffer), floats.slice().reverse());
  });
});
