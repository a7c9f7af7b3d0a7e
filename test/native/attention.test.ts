import { describe, test } from 'node:test';
import { attentionProgram, type AttentionCase } from './attention_program';
import type { KvBits } from '../../extension/engine/backend/backend';
import {
  assertMatchesReference,
  CODE_TOLERANCE,
  randomTokens,
  TestProgram,
  type Part,
} from './harness';

const cases: Record<string, AttentionCase> = {
  'one head for each key head': { heads: 3, kvHeads: 3, keyDim: 64, valueDim: 64 },
  'four query heads a key head': { heads: 8, kvHeads: 2, keyDim: 64, valueDim: 64 },
  'one key head for all': { heads: 40, kvHeads: 1, keyDim: 16, valueDim: 16 },
  'heads of 128': { heads: 4, kvHeads: 2, keyDim: 128, valueDim: 128 },
  'odd dimensions, keys wider than values': { heads: 6, kvHeads: 2, keyDim: 72, valueDim: 40 },
  'values wider than keys': { heads: 2, kvHeads: 1, keyDim: 24, valueDim: 136 },
  'sliding window': { heads: 4, kvHeads: 2, keyDim: 32, valueDim: 32, window: 37 },
  'soft cap': { heads: 4, kvHeads: 2, keyDim: 32, valueDim: 32, softcap: 0.7 },
  gate: { heads: 4, kvHeads: 2, keyDim: 32, valueDim: 40, hasGate: true },
  'keys with a shared end': { heads: 6, kvHeads: 3, keyDim: 40, valueDim: 24, sharedKeyDim: 13 },
  sinks: { heads: 4, kvHeads: 2, keyDim: 32, valueDim: 32, hasSinks: true, window: 150 },
};

describe('attention', () => {
  for (const [name, spec] of Object.entries(cases)) {
    const run = async (kvBits: KvBits) => {
      const program = new TestProgram();
      const tokens = randomTokens(400, spec.heads * spec.valueDim);
      const part = (start: number, count: number): Part[] => [
        { tokens: tokens.slice(start, start + count), start },
      ];
      // A prompt in unequal chunks over several blocks and key chunks, then single tokens.
      const steps = [
        part(0, 5),
        part(5, 90),
        part(95, 61),
        part(156, 1),
        part(157, 1),
        part(158, 96),
        part(254, 4),
      ];
      await assertMatchesReference(program, attentionProgram(program, spec), steps, {
        fastTolerance: kvBits === 8 ? CODE_TOLERANCE : 2e-3,
        kvBits,
      });
    };
    test(name, () => run(16));
    test(`${name}, keys and values of 8 bits`, () => run(8));
  }

  test('several sequences of unequal length in one step', async () => {
    const program = new TestProgram();
    const spec = { heads: 4, kvHeads: 2, keyDim: 64, valueDim: 64 };
    const tokens = (count: number, seed: number) => randomTokens(count, 256, seed);
    const steps: Part[][] = [
      [
        { tokens: tokens(50, 1), start: 0 },
        { tokens: tokens(3, 2), start: 0 },
        { tokens: tokens(33, 3), start: 0 },
      ],
      [
        { tokens: tokens(1, 4), start: 50 },
        { tokens: tokens(70, 5), start: 3 },
        { tokens: tokens(2, 6), start: 33 },
      ],
    ];
    await assertMatchesReference(program, attentionProgram(program, spec), steps, {
      sequences: 3,
      fastTolerance: 2e-3,
    });
  });
});
