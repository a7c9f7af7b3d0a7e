import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ActivationBits,
  CompileOptions,
  StepBatch,
} from '../../../extension/engine/backend/backend';
import { calibrated, formatBits, parseBits } from '../../../extension/engine/backend/calibrate';
import type { Program } from '../../../extension/engine/core/program';

const OPTIONS: CompileOptions = {
  precision: 'fast',
  kvBlocks: 2,
  maxTokens: 256,
  maxLogitRows: 4,
  threads: 1,
};

/** A model whose logits turn by `angles` of radians for 8 and 8, and 16 and 8 bits. */
class Turning {
  readonly bytesPerToken = 0;
  readonly threads = 1;
  readonly batches: StepBatch[] = [];
  bits: ActivationBits = { attention: 8, others: 8 };

  constructor(private readonly angles: readonly [number, number]) {}

  setActivations(bits: ActivationBits): void {
    this.bits = bits;
  }

  step(batch: StepBatch): Promise<Float32Array> {
    this.batches.push(batch);
    const { attention, others } = this.bits;
    const turn = others === 16 ? 0 : this.angles[attention === 8 ? 0 : 1];
    const logits = [...batch.logitRows].flatMap((row) => [
      Math.cos(row + turn),
      Math.sin(row + turn),
    ]);
    return Promise.resolve(Float32Array.from(logits));
  }

  cancel(): void {}
  dispose(): void {}
}

const program = (op: string) =>
  ({ vocabSize: 2, contextLength: 100, instructions: [{ op }] }) as unknown as Program;

const chosen = async (angles: readonly [number, number]) => {
  const model = new Turning(angles);
  const bits = await calibrated(model, program('linear'), OPTIONS, 16);
  assert.deepEqual(bits, model.bits);
  assert.deepEqual(parseBits(formatBits(bits)), bits);
  return [bits.attention, bits.others];
};

test('as few bits as leave the logits as they are', async () => {
  assert.deepEqual(await chosen([0.03, 0.03]), [8, 8]); // cos 0.03 = 0.99955
  assert.deepEqual(await chosen([0.04, 0.01]), [16, 8]);
  assert.deepEqual(await chosen([0.04, 0.04]), [16, 16]);
  assert.deepEqual(await chosen([NaN, NaN]), [16, 16]);
});

test('the probe fits into what was asked for, and experts get more of it', async () => {
  const small = new Turning([0, 0]);
  await calibrated(small, program('linear'), OPTIONS, 8);
  for (const { tokens, blockTables, logitRows } of small.batches) {
    assert.equal(tokens.length, 16); // the key/value pool
    assert.deepEqual([...blockTables], [0, 1]);
    assert.deepEqual([...logitRows], [0, 4, 8, 12]);
    assert.ok(tokens.every((token) => token === 0 || token === 1));
  }
  const routed = new Turning([0, 0]);
  await calibrated(routed, program('moe_route'), OPTIONS, 16);
  assert.equal(routed.batches.length, 4 * small.batches.length);
});

test('an abort ends the probe', async () => {
  const controller = new AbortController();
  class Slow extends Turning {
    override step(batch: StepBatch): Promise<Float32Array> {
      const result = super.step(batch);
      return this.batches.length < 2 ? result : new Promise(() => controller.abort());
    }
    override cancel(): void {
      this.isCancelled = true;
    }
    isCancelled = false;
  }
  const slow = new Slow([0, 0]);
  const options = { ...OPTIONS, signal: controller.signal };
  void calibrated(slow, program('linear'), options, 16);
  while (!slow.isCancelled) await nextTurn();
  const calibrating = calibrated(new Turning([0, 0]), program('linear'), options, 16);
  await assert.rejects(calibrating, { code: 'cancelled' });
});

test('a remembered choice is used only if it is one', () => {
  for (const line of ['', '8 8', 'activations 0: 8 8', 'activations 3: 4 4']) {
    assert.equal(parseBits(line), null);
  }
});
