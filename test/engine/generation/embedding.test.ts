import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadNativeBackend } from '../../../extension/engine/backend/native';
import { createReferenceBackend } from '../../../extension/engine/backend/reference';
import type { Engine } from '../../../extension/engine/engine';
import { loadEngine } from '../../../extension/engine/load_engine';
import { HiddenPool, shorten } from '../../../extension/engine/generation/embedding';
import { GREEDY } from '../../../extension/engine/generation/types';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { FIXTURES } from '../loading/model_fixture';
import { hiddenError } from './hidden';

/** As for the logits of a step. */
const MAX_RELATIVE_ERROR = 1e-4;

describe('hidden states lead to the logits of transformers', () => {
  for (const set of ['conformance', 'families']) {
    for (const name of readdirSync(join(FIXTURES, set))) {
      test(name, async () => {
        const dir = join(FIXTURES, set, name);
        const reference = await hiddenError(dir, createReferenceBackend(), 'exact');
        assert.ok(reference <= MAX_RELATIVE_ERROR, `reference: ${reference}`);
        const cpu = await hiddenError(dir, loadNativeBackend(), 'exact');
        assert.ok(cpu <= MAX_RELATIVE_ERROR, `cpu: ${cpu}`);
      });
    }
  }
});

describe('HiddenPool', () => {
  const spec = { kind: 'rms', weight: null, bias: null, eps: 0, offset: 0 } as const;
  const norm = { spec, weight: Float32Array.of(1, 2), bias: null, width: 2 };
  const states = Float32Array.of(3, 3, 1, -1, 0, 2);
  const round = (vector: Float32Array) => [...vector].map((x) => Math.round(x * 1e4) / 1e4);

  test('mean of the normed states, of length 1, in pieces or not', () => {
    const whole = new HiddenPool(norm, 'mean');
    whole.add(states, 0);
    const pieces = new HiddenPool(norm, 'mean');
    pieces.add(states.subarray(0, 4), 0);
    // Begun anew after it had to give way.
    pieces.add(states.subarray(0, 2), 0);
    pieces.add(states.subarray(2), 1);
    // (1, 2) + (1, -2) + (0, 2√2), a third of it
    const expected = [2 / Math.sqrt(12), Math.sqrt(8) / Math.sqrt(12)];
    assert.deepEqual(round(whole.vector()), round(Float32Array.from(expected)));
    assert.deepEqual(pieces.vector(), whole.vector());
  });

  test('the last state alone', () => {
    const pool = new HiddenPool(norm, 'last');
    pool.add(states.subarray(0, 4), 0);
    pool.add(states.subarray(4), 2);
    assert.deepEqual(round(pool.vector()), [0, 1]);
  });

  test('fewer dimensions are of length 1 again', () => {
    const vector = Float32Array.of(0.6, 0.8);
    assert.deepEqual(round(shorten(vector, 1)), [1]);
    assert.equal(shorten(vector, 2), vector);
  });
});

describe('embeddings of the built-in model', () => {
  let engine: Engine;
  before(async () => {
    const options = { backend: 'cpu', precision: 'exact', threads: 2 } as const;
    engine = await loadEngine({ modelDir: embeddedModel(), contextLength: 512, ...options });
  });
  after(() => engine.dispose());

  const texts = [
    'def add(a, b):\n    return a + b',
    'def sub(a, b):\n    return a - b',
    'Dear Sir',
  ];
  const ids = (text: string) => engine.tokenizer.encode(text);
  const cosine = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0);

  test('length 1, as many numbers as the model is wide, near for what is alike', async () => {
    const [add, sub, letter] = await Promise.all(
      texts.map((text) => engine.embed({ ids: ids(text) })),
    );
    assert.ok(add && sub && letter);
    assert.equal(add.length, engine.embeddingSize);
    assert.ok(Math.abs(cosine(add, add) - 1) < 1e-5);
    assert.ok(cosine(add, sub) > cosine(add, letter));
  });

  test('the same alone, cached, and beside answers; every block is free afterwards', async () => {
    for (const pooling of ['mean', 'last'] as const) {
      const long = ids(texts.join('\n').repeat(8));
      const alone = await engine.embed({ ids: long, pooling });
      const chat = { ids: ids('import os\n'), maxTokens: 20, sampling: GREEDY, stop: [] };
      const [answer, ...again] = await Promise.all([
        engine.generate(chat),
        engine.embed({ ids: long, pooling }),
        engine.embed({ ids: long.slice(0, 60), pooling }),
        engine.embed({ ids: long, pooling, priority: 'background' }),
      ]);
      assert.ok(answer.ids.length > 0);
      assert.deepEqual(again[0], alone);
      assert.deepEqual(again[2], alone);
      assert.notDeepEqual(again[1], alone);
      engine.checkIntegrity();
    }
    const { running, freeBlocks = 0, cachedBlocks = 0, blocks } = engine.metrics() ?? {};
    assert.deepEqual([running, freeBlocks + cachedBlocks], [0, blocks]);
  });

  test('an abort rejects', async () => {
    const aborted = engine.embed({ ids: ids('x'), signal: AbortSignal.abort() });
    await assert.rejects(aborted, { code: 'cancelled' });
  });
});
