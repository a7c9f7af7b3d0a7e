/** Chunks of the gated delta rule: every length, sequences side by side, decays that vanish and keys that are alike. */
import { after, before, describe, it } from 'node:test';
import type { StateLayerSpec } from '../../extension/engine/core/program';
import { makeStep, stepFields } from './batch';
import { channelsOf, gatedDelta, randomInputs, type Nature } from './gated_delta_oracle';
import { assertClose, load, Random, TOLERANCE } from './numbers';
import { merge, Runner, skip } from './runner';

const SMALL: StateLayerSpec = { keyHeads: 1, valueHeads: 2, keyDim: 20, valueDim: 11, taps: 4 };
const SLOTS = 5;

const NATURES: Readonly<Record<string, Nature>> = {
  'like a model': { rate: 0.3, common: 0, gates: 2 },
  'forgets at once': { rate: 40, common: 0, gates: 6 },
  'forgets now and then': { rate: 1, common: 0.3, gates: 30 },
  'forgets nothing, keys all alike': { rate: 1e-4, common: 20, gates: 8 },
};

describe('gated_delta', { skip }, () => {
  let runner: Runner;
  before(async () => (runner = await Runner.start()));
  after(() => runner.stop());

  /** One step; out, and the states of all slots, against the oracle. */
  async function check(
    spec: StateLayerSpec,
    sequences: readonly { past: number; rows: number }[],
    nature: Nature,
  ): Promise<void> {
    const random = new Random(sequences.reduce((sum, { past, rows }) => 31 * sum + past + rows, 7));
    const step = makeStep(sequences, random);
    const slots = Int32Array.from(sequences, (_, i) => (3 * i + 1) % SLOTS);
    const given = randomInputs(spec, step.rows, SLOTS, nature, random);
    const [inputs, matrices] = [Float64Array.from(given.inputs), Float64Array.from(given.matrices)];
    const expected = gatedDelta(spec, step, slots, given, inputs, matrices);
    const { keyHeads, valueHeads, keyDim, valueDim, taps, tiled = false } = spec;
    const got = await runner.run({
      op: 'gated_delta',
      ...merge(stepFields(step), {
        numbers: {
          key_heads: keyHeads,
          value_heads: valueHeads,
          key_dim: keyDim,
          value_dim: valueDim,
          taps,
          tiled: tiled ? 1 : 0,
          x_type: 0,
          x_stride: channelsOf(spec) + 2 * valueHeads,
          out_type: 0,
        },
        inputs: {
          x: given.x,
          conv: given.conv,
          decay: given.decay,
          time_bias: given.timeBias,
          offsets: step.offsets,
          state_slots: slots,
        },
      }),
      changed: { inputs: given.inputs, matrices: given.matrices },
      outputs: { out: 4 * expected.length },
    });
    const what = sequences.map(({ past, rows }) => `${rows} rows after ${past}`).join(', ');
    assertClose(load('f32', got.out as Buffer), expected, TOLERANCE.f32, `out, ${what}`);
    assertClose(load('f32', got.matrices as Buffer), matrices, TOLERANCE.f32, `states, ${what}`);
    assertClose(load('f32', got.inputs as Buffer), inputs, TOLERANCE.f32, `inputs, ${what}`);
  }

  for (const [name, nature] of Object.entries(NATURES)) {
    it(`every length from 1 to 130: ${name}`, async () => {
      for (let rows = 1; rows <= 130; rows++)
        await check(SMALL, [{ past: rows % 2 === 0 ? 0 : 40, rows }], nature);
    });

    it(`the heads of Qwen3-Next: ${name}`, () =>
      check(
        { keyHeads: 2, valueHeads: 4, keyDim: 128, valueDim: 128, taps: 4 },
        [{ past: 3, rows: 70 }],
        nature,
      ));
  }

  const specs: Readonly<Record<string, StateLayerSpec>> = {
    'twelve value heads a key head': {
      keyHeads: 2,
      valueHeads: 24,
      keyDim: 32,
      valueDim: 8,
      taps: 4,
    },
    'tiled value heads': {
      keyHeads: 3,
      valueHeads: 6,
      keyDim: 24,
      valueDim: 16,
      taps: 3,
      tiled: true,
    },
    'more columns than a threadgroup': {
      keyHeads: 1,
      valueHeads: 1,
      keyDim: 64,
      valueDim: 70,
      taps: 2,
    },
    'keys too wide for chunks': { keyHeads: 1, valueHeads: 2, keyDim: 136, valueDim: 16, taps: 4 },
  };
  for (const [name, spec] of Object.entries(specs)) {
    it(`long and short sequences side by side: ${name}`, () =>
      check(
        spec,
        [
          { past: 0, rows: 21 },
          { past: 90, rows: 1 },
          { past: 7, rows: 7 },
          { past: 16, rows: 32 },
          { past: 0, rows: 8 },
        ],
        NATURES['like a model'] as Nature,
      ));
  }
});
