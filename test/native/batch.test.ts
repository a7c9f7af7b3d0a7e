/** Every step is checked before memory is touched. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { StepBatch } from '../../extension/engine/backend/backend';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import { attentionProgram } from './attention_program';
import { MAX_TOKENS, randomTokens, Runner, TestProgram } from './harness';

const ints = (...values: number[]) => Int32Array.from(values);

const cases: { name: string; change: (batch: StepBatch) => object; message: RegExp }[] = [
  {
    name: 'no tokens',
    change: () => ({ tokens: ints() }),
    message: /tokens: got 0, expected 1 to 96/,
  },
  {
    name: 'too many tokens',
    change: () => ({ tokens: new Int32Array(MAX_TOKENS + 1) }),
    message: /tokens: got 97, expected 1 to 96/,
  },
  {
    name: 'a token beyond the vocabulary',
    change: () => ({ tokens: ints(1, 48, 0, 0) }),
    message: /token: got 48, expected 0 to 47/,
  },
  {
    name: 'a negative token',
    change: () => ({ tokens: ints(1, -1, 0, 0) }),
    message: /token: got -1/,
  },
  {
    name: 'too few positions',
    change: () => ({ positions: ints(0) }),
    message: /positions: got 1, expected 4/,
  },
  {
    name: 'positions that jump',
    change: () => ({ positions: ints(0, 1, 0, 2) }),
    message: /position of row 3: got 2, expected 1/,
  },
  {
    name: 'a position beyond the blocks',
    change: () => ({ positions: ints(0, 1, 512, 513) }),
    message: /first position of sequence 1: got 512, expected 0 to 510/,
  },
  {
    name: 'a negative position',
    change: () => ({ positions: ints(-1, 0, 0, 1) }),
    message: /got -1, expected 0 to/,
  },
  {
    name: 'offsets that begin late',
    change: () => ({ offsets: ints(1, 2, 4) }),
    message: /offsets\[0\]: got 1/,
  },
  {
    name: 'offsets that end early',
    change: () => ({ offsets: ints(0, 2, 3) }),
    message: /last offset: got 3, expected 4/,
  },
  {
    name: 'an empty sequence',
    change: () => ({ offsets: ints(0, 0, 4) }),
    message: /offsets\[1\]: got 0, expected 1 to 4/,
  },
  {
    name: 'offsets that go back',
    change: () => ({ offsets: ints(0, 9, 4) }),
    message: /offsets\[1\]: got 9/,
  },
  {
    name: 'a block beyond the pool',
    change: ({ blockTables }) => ({ blockTables: blockTables.map(() => 32) }),
    message: /KV block of sequence 0: got 32, expected 0 to 31/,
  },
  {
    name: 'two sequences that write to one block',
    change: ({ blockTables }) => ({ blockTables: blockTables.map(() => 3) }),
    message: /KV block written by two places of the block tables: got 3/,
  },
  {
    name: 'a table of the wrong size',
    change: () => ({ blockTables: ints(0, 1, 2) }),
    message: /block table entries: got 3, expected 32/,
  },
  {
    name: 'no blocks',
    change: () => ({ blocksPerSequence: 0 }),
    message: /blocksPerSequence: got 0/,
  },
  {
    name: 'logits of a row that is not there',
    change: () => ({ logitRows: ints(4) }),
    message: /logit row: got 4, expected 0 to 3/,
  },
  {
    name: 'logits in descending order',
    change: () => ({ logitRows: ints(2, 1) }),
    message: /logit row: got 1, expected 2 to 3/,
  },
  {
    name: 'another kind of array',
    change: () => ({ tokens: new Float32Array(4) }),
    message: /tokens: expected an Int32Array/,
  },
];

describe('a step is refused', () => {
  const program = new TestProgram();
  let runner: Runner;
  before(async () => {
    const built = attentionProgram(program, { heads: 2, kvHeads: 1, keyDim: 24, valueDim: 24 });
    runner = await Runner.create(loadNativeBackend(), built, program.weights, { sequences: 2 });
  });
  after(() => {
    runner.executable.dispose();
    program.weights.close();
  });
  const parts = [
    { tokens: [1, 2], start: 0 },
    { tokens: [3, 4], start: 0 },
  ];

  for (const { name, change, message } of cases) {
    test(name, async () => {
      const batch = runner.batch(parts);
      await assert.rejects(runner.executable.step({ ...batch, ...change(batch) }), {
        code: 'bad_request',
        message,
      });
      // The executable still works.
      assert.equal((await runner.executable.step(batch)).length, 4 * 48);
    });
  }

  test('while another one runs', async () => {
    const batch = runner.batch([{ tokens: randomTokens(90, 48), start: 0 }]);
    const first = runner.executable.step(batch);
    await assert.rejects(runner.executable.step(batch), {
      code: 'bad_request',
      message: /a step is running/,
    });
    await first;
  });
});
