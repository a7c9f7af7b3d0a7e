import { describe, test } from 'node:test';
import type { KvBits } from '../../extension/engine/backend/backend';
import { assertMatchesReference, CODE_TOLERANCE, randomTokens, TestProgram } from './harness';

const headDim = 40;
const heads = 4;
const kvHeads = 2;

describe('attention_prepare', () => {
  for (const norm of ['no norm', 'norm', 'norm of the whole row'] as const) {
    for (const layout of ['half', 'interleaved', null] as const) {
      const name = `${norm}, ${layout === null ? 'no rope' : `${layout} rope`}`;
      const run = async (kvBits: KvBits) => {
        const program = new TestProgram();
        const x = program.embed(heads * headDim, 64);
        const qkv = program.linear(x, (heads + 2 * kvHeads) * headDim + 7); // and columns of others
        const wholeRow = norm === 'norm of the whole row';
        const normOf = (count: number) =>
          norm === 'no norm' ? null : program.rmsNorm(wholeRow ? count * headDim : headDim);
        const layer = program.kvLayer({ kvHeads, keyDim: headDim, valueDim: headDim });
        const inverseFrequencies = Array.from({ length: 16 }, (_, i) => 500 ** (-i / 16));
        const q = program.value(heads * headDim);
        program.push({
          op: 'attention_prepare',
          qkv,
          layer,
          heads,
          kvHeads,
          headDim,
          qNorm: normOf(heads),
          kNorm: normOf(kvHeads),
          ...(wholeRow && { wholeRowNorm: true as const }),
          rope: layout === null ? null : { inverseFrequencies, scale: 1.1, layout },
          out: q,
        });
        const out = program.value(heads * headDim);
        const scale = 1 / Math.sqrt(headDim);
        program.push({
          op: 'attention',
          q,
          layer,
          heads,
          scale,
          window: null,
          softcap: null,
          sinks: null,
          out,
        });
        const steps = [
          [{ tokens: randomTokens(75, heads * headDim), start: 0 }],
          [{ tokens: [1], start: 75 }],
        ];
        await assertMatchesReference(program, program.finish(out), steps, {
          fastTolerance: kvBits === 8 ? CODE_TOLERANCE : 2e-3,
          kvBits,
        });
      };
      test(`with attention behind it: ${name}`, () => run(16));
      test(`with attention behind it: ${name}, keys and values of 8 bits`, () => run(8));
    }
  }
});
