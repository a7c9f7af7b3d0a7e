import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineOptions } from '../../../extension/engine/cli/load';
import { OptionReader } from '../../../extension/engine/cli/options';
import { loadEngine } from '../../../extension/engine/load_engine';
import { GREEDY } from '../../../extension/engine/generation/types';

const optionsOf = (values: Record<string, string>) => engineOptions(new OptionReader(values));

test('batch size, sequence length and prefill step, absent unless given', () => {
  const { batchSize, contextLength, prefillStep } = optionsOf({});
  assert.deepEqual([batchSize, contextLength, prefillStep], [undefined, undefined, undefined]);
  const given = optionsOf({ 'batch-size': '4', 'max-seq-len': '512', 'prefill-step': '128' });
  assert.deepEqual([given.batchSize, given.contextLength, given.prefillStep], [4, 512, 128]);
  assert.equal(optionsOf({ context: '512', 'max-seq-len': '512' }).contextLength, 512);
  assert.throws(() => optionsOf({ context: '512', 'max-seq-len': '256' }), /same thing/);
  assert.throws(() => optionsOf({ 'batch-size': '65' }), /batch-size 65/);
});

test('the same answers in steps of any size; steps that cannot be are refused', async () => {
  const answers = async (limits: { batchSize?: number; prefillStep?: number }) => {
    const options = { ...optionsOf({}), threads: 2, contextLength: 256, ...limits };
    const engine = await loadEngine(options);
    try {
      const prompts = ['def f(x):\n', 'import os\n', 'class A:\n', 'for i in'];
      const all = prompts.map((prompt) => {
        const ids = engine.tokenizer.encode(prompt.repeat(6));
        return engine.generate({ ids, maxTokens: 12, sampling: GREEDY, stop: [] });
      });
      const results = await Promise.all(all);
      engine.checkIntegrity();
      return results.map(({ ids }) => ids);
    } finally {
      await engine.dispose();
    }
  };
  const usual = await answers({});
  assert.deepEqual(await answers({ batchSize: 1, prefillStep: 2 }), usual);
  assert.deepEqual(await answers({ batchSize: 64, prefillStep: 300 }), usual);
  const bad = { code: 'bad_request' };
  await assert.rejects(answers({ batchSize: 0 }), { ...bad, message: /batch size 0: expected 1/ });
  await assert.rejects(answers({ batchSize: 8, prefillStep: 8 }), {
    ...bad,
    message: /prefill step 8: expected 9/,
  });
});
