import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measure } from '../../../extension/engine/cli/bench_latency';
import { loadEngine } from '../../../extension/engine/load_engine';
import { resolveModel } from '../../../extension/engine/loading/model_dir';

test('bench latency measures each time, and leaves nothing behind', async () => {
  const engine = await loadEngine({
    modelDir: resolveModel(undefined),
    backend: 'auto',
    precision: 'fast',
    threads: 0,
    contextLength: 512,
  });
  try {
    const report = await measure(engine, 2);
    assert.equal(report.runs, 2);
    assert.equal(report.chat_tokens, 255);
    for (const name of [
      'completion_alone_ms',
      'completion_in_prefill_ms',
      'cancel_in_prefill_ms',
      'cancel_in_decode_ms',
    ]) {
      const times = report[name];
      assert.ok(typeof times === 'object' && times.p50 > 0, name);
      assert.ok(times.p50 <= times.p95 && times.p95 <= times.most, name);
    }
    const { running, waiting, blocks, freeBlocks, cachedBlocks } = engine.metrics() ?? {};
    assert.deepEqual([running, waiting], [0, 0]);
    assert.equal((freeBlocks ?? 0) + (cachedBlocks ?? 0), blocks);
  } finally {
    await engine.dispose();
  }
});
