import { describe, test } from 'node:test';
import type { KvBits } from '../../extension/engine/backend/backend';
import { assertMatchesReference, CODE_TOLERANCE, randomTokens, TestProgram } from './harness';

const heads = 5;
const [keyDim, start, valueDim] = [40, 26, 24];

describe('latent_prepare', () => {
  for (const layout of ['half', 'interleaved'] as const) {
    const run = async (kvBits: KvBits) => {
      const program = new TestProgram();
      const vocab = heads * valueDim;
      const x = program.embed(vocab, 64);
      const layer = program.kvLayer({ kvHeads: heads, keyDim, valueDim });
      const inverseFrequencies = Array.from({ length: 7 }, (_, i) => 500 ** (-i / 7));
      const q = program.value(heads * keyDim);
      program.push({
        op: 'latent_prepare',
        q: { value: program.linear(x, heads * keyDim + 3), column: 3 },
        kv: program.linear(x, heads * (start + valueDim)),
        sharedKey: { value: program.linear(x, 60), column: 11 },
        layer,
        heads,
        rope: { inverseFrequencies, scale: 1.2, layout, start },
        out: q,
      });
      const out = program.value(vocab);
      const rest = { scale: 0.2, window: null, softcap: null, sinks: null };
      program.push({ op: 'attention', q, layer, heads, ...rest, out });
      const steps = [[{ tokens: randomTokens(75, vocab), start: 0 }], [{ tokens: [1], start: 75 }]];
      await assertMatchesReference(program, program.finish(out), steps, {
        fastTolerance: kvBits === 8 ? CODE_TOLERANCE : 2e-3,
        kvBits,
      });
    };
    test(`with attention behind it, ${layout} rope`, () => run(16));
    test(`with attention behind it, ${layout} rope, keys and values of 8 bits`, () => run(8));
  }
});
