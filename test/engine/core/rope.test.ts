import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GraphBuilder } from '../../../extension/engine/core/graph';
import { forContext, ropeSpec } from '../../../extension/engine/core/rope';
import type { RopeConfig } from '../../../extension/engine/loading/rope_config';

const BASE = { theta: 10_000, rotaryFraction: 1 } as const;
const PLAIN = ropeSpec({ ...BASE, type: 'default' }, 64, 'half').inverseFrequencies;

/** How much slower each pair turns than without scaling. */
function slowdown(rope: RopeConfig): number[] {
  return ropeSpec(rope, 64, 'half').inverseFrequencies.map((f, i) => (PLAIN[i] ?? NaN) / f);
}

function near(actual: number | undefined, expected: number): void {
  assert.ok(
    Math.abs((actual ?? NaN) - expected) < 1e-9 * expected,
    `got ${actual}, expected ${expected}`,
  );
}

test('frequencies fall geometrically from one turn a radian', () => {
  assert.equal(PLAIN.length, 32);
  near(PLAIN[0], 1);
  near(PLAIN[16], 0.01); // 10000^(-1/2)
});

test('a partial rotation turns fewer columns, as a shorter head would', () => {
  const partial = ropeSpec({ ...BASE, rotaryFraction: 0.25, type: 'default' }, 64, 'interleaved');
  const short = ropeSpec({ ...BASE, type: 'default' }, 16, 'interleaved');
  assert.deepEqual(partial, short);
});

test('linear scaling slows every pair alike', () => {
  for (const factor of slowdown({ ...BASE, type: 'linear', factor: 4 })) near(factor, 4);
});

test('llama3 keeps fast pairs, slows slow ones, and blends between without a step', () => {
  const factors = slowdown({
    ...BASE,
    type: 'llama3',
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalContext: 1024,
  });
  near(factors[0], 1);
  near(factors.at(-1), 8);
  PLAIN.forEach((frequency, i) => {
    const turns = (1024 * frequency) / (2 * Math.PI);
    if (turns >= 4) near(factors[i], 1);
    if (turns <= 1) near(factors[i], 8);
  });
  assert.deepEqual(
    factors,
    [...factors].sort((a, b) => a - b),
  );
  assert.ok(factors.some((factor) => factor > 1.01 && factor < 7.9));
});

test('yarn blends over pairs and warms the attention by its logarithm', () => {
  const yarn = {
    ...BASE,
    type: 'yarn',
    factor: 4,
    originalContext: 1024,
    betaFast: 32,
    betaSlow: 1,
    attentionFactor: null,
    attentionMultiplier: 1,
    mscale: 0,
    mscaleAllDim: 0,
    truncate: true,
  } as const;
  const factors = slowdown(yarn);
  // Pairs with 32 turns and with 1 turn in 1,024 positions: 64 ln(1024 / (turns 2 pi)) / (2 ln 10000) = 5.65 and 17.70.
  for (let i = 0; i <= 5; i++) near(factors[i], 1);
  for (let i = 18; i < 32; i++) near(factors[i], 4);
  near(factors[10], 1 / (1 - (5 / 13) * 0.75)); // 5 of 13 steps from pair 5 to pair 18
  near(ropeSpec(yarn, 64, 'half').scale, 0.1 * Math.log(4) + 1);
  assert.equal(ropeSpec({ ...yarn, attentionFactor: 1.5 }, 64, 'half').scale, 1.5);
  // DeepSeek-R1-0528-Qwen3-8B takes the warmth back: 1 / (0.1 ln 4 + 1).
  near(ropeSpec({ ...yarn, attentionMultiplier: 0.8782488562869419 }, 64, 'half').scale, 1);
  assert.equal(ropeSpec({ ...yarn, mscale: 0.7, mscaleAllDim: 0.7 }, 64, 'half').scale, 1);
});

test('longrope divides by one list up to the original context, by another beyond it', () => {
  const factors = (first: number) => Array.from({ length: 32 }, (_, i) => first + i);
  const rope = {
    ...BASE,
    type: 'longrope',
    shortFactors: factors(1),
    longFactors: factors(10),
    originalContext: 4096,
    attentionFactor: 1.19,
  } as const;
  const spec = ropeSpec(rope, 64, 'half');
  assert.equal(spec.scale, 1.19);
  const g = new GraphBuilder();
  const x = g.embed(g.matrix('e', 8, 64));
  const program = g.finish('phi3', 131_072, g.rope(x, 1, 64, spec), {
    value: x,
    norm: { kind: 'rms', weight: g.vector('n', 64), bias: null, eps: 1e-5, offset: 0 },
  });
  for (const [context, first] of [
    [4096, 1],
    [4097, 10],
  ] as const) {
    const [chosen] = forContext(program, context).instructions.flatMap((at) =>
      'rope' in at && at.rope !== null ? [at.rope] : [],
    );
    assert.equal(chosen?.beyond, undefined);
    chosen?.inverseFrequencies.forEach((f, i) => near((PLAIN[i] ?? NaN) / f, first + i));
  }
});
