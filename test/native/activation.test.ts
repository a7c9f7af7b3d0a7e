import { describe, test } from 'node:test';
import { assertMatchesReference, randomTokens, TestProgram } from './harness';

describe('activation', () => {
  for (const activation of [
    'silu',
    'gelu',
    'gelu_tanh',
    'relu',
    'sigmoid',
    'swiglu_oai',
  ] as const) {
    for (const hasUp of activation === 'swiglu_oai' ? [true] : [false, true]) {
      test(`${activation}${hasUp ? ' times up' : ''}, from -12 to 12`, async () => {
        const program = new TestProgram();
        const cols = 83;
        const x = program.embed(cols, cols);
        const gate = program.value(cols);
        program.push({ op: 'scale', x, factor: 12, softcap: null, out: gate });
        const out = program.value(cols);
        program.push({ op: 'activation', gate, up: hasUp ? x : null, activation, out });
        const steps = [[{ tokens: randomTokens(60, cols), start: 0 }]];
        await assertMatchesReference(program, program.finish(out), steps, { fastTolerance: 1e-5 });
      });
    }
  }
});
