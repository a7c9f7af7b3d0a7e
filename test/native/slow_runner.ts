import { loadNativeBackend } from '../../extension/engine/backend/native';
import { MAX_TOKENS, randomTokens, Runner, TestProgram } from './harness';

/** Many products of large matrices: a step takes some milliseconds. */
export async function slowRunner(): Promise<{ runner: Runner; test: TestProgram }> {
  const test = new TestProgram();
  let x = test.embed(512, 512);
  const weight = test.matrix(512, 512, 'F32', 0.05);
  for (let i = 0; i < 60; i++) {
    const out = test.value(512);
    test.push({
      op: 'linear',
      x,
      weights: [weight],
      biases: [null],
      norm: null,
      residual: null,
      out,
    });
    x = out;
  }
  return { test, runner: await Runner.create(loadNativeBackend(), test.finish(x), test.weights) };
}

export const slowParts = [{ tokens: randomTokens(MAX_TOKENS, 512), start: 0 }];
