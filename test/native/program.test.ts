/** The addon validates programs again: whatever is wrong is refused with words, and nothing crashes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadNativeBackend } from '../../extension/engine/backend/native';
import type { Instruction, Program } from '../../extension/engine/core/program';
import { EngineError } from '../../extension/engine/errors';
import { TestProgram } from './harness';

const options = {
  precision: 'exact',
  kvBlocks: 4,
  maxTokens: 8,
  maxLogitRows: 8,
  threads: 1,
} as const;

/** embed, linear, gather_rows over 32 columns, with `change` applied. */
async function refusal(change: (program: Program) => unknown): Promise<EngineError> {
  const test = new TestProgram();
  const program = test.finish(test.linear(test.embed(32, 32), 32));
  test.vector(32);
  test.weights.save();
  const changed = { ...program, ...(change(program) as Partial<Program>) };
  try {
    const executable = await loadNativeBackend().compile(changed, test.weights, options);
    executable.dispose();
  } catch (error) {
    assert.ok(error instanceof EngineError, String(error));
    return error;
  } finally {
    test.weights.close();
  }
  throw new Error('the program was accepted');
}

/** Fields of instruction 1, the linear, replaced. */
const withLinear = (fields: object) => (program: Program) => ({
  instructions: program.instructions.map((i, n) => (n === 1 ? { ...i, ...fields } : i)),
});
const withInstruction = (instruction: unknown) => (program: Program) => ({
  instructions: [...program.instructions, instruction as Instruction],
});

const HIDDEN_NORM = { kind: 'rms', weight: null, bias: null, eps: 1e-6, offset: 0 } as const;

const cases: {
  name: string;
  change: (program: Program) => unknown;
  message: RegExp;
  code?: string;
}[] = [
  {
    name: 'an unknown op',
    change: withInstruction({ op: 'conjure', x: 0, out: 1 }),
    message: /^\[conjure\]: the cpu backend does not have this op/,
    code: 'unsupported',
  },
  {
    name: 'a field that changes the maths',
    change: withLinear({ dropout: 0.1 }),
    message: /^\[linear\] dropout: the cpu backend does not know this field/,
    code: 'unsupported',
  },
  {
    name: 'a value that does not exist',
    change: withLinear({ x: 77 }),
    message: /^\[linear\] value: got 77, expected an index below 3/,
  },
  {
    name: 'a value that is read too early',
    change: withLinear({ residual: 2 }),
    message: /^\[linear\] value 2 is read before it is written/,
  },
  {
    name: 'a value written twice',
    change: withLinear({ out: 0 }),
    message: /value 0 is written twice/,
  },
  {
    name: 'an id that is no integer',
    change: withLinear({ x: 0.5 }),
    message: /^\[linear\] x: got 0.5, expected an integer from 0 to/,
  },
  {
    name: 'a negative id',
    change: withLinear({ weights: [-1] }),
    message: /^\[linear\] weights\[0\]: got -1, expected an integer/,
  },
  {
    name: 'a weight that does not exist',
    change: withLinear({ weights: [2 ** 31] }),
    message: /^\[linear\] weight: got 2147483648, expected an index below 3/,
  },
  {
    name: 'no weights',
    change: withLinear({ weights: [], biases: [] }),
    message: /weights: got none/,
  },
  {
    name: 'unequal numbers of weights and biases',
    change: withLinear({ biases: [] }),
    message: /^\[linear\] number of biases: got 0, expected 1/,
  },
  {
    name: 'a matrix for a vector',
    change: withLinear({ biases: [0] }),
    message: /^\[linear\] bias matrix0: got a matrix, expected a vector/,
  },
  {
    name: 'a wrong shape',
    change: ({ values }) => ({
      values: [...values.slice(0, 1), { rows: 'T', cols: 31 }, ...values.slice(2)],
    }),
    message: /^\[linear\] out: got \[T, 31\], expected \[T, 32\]/,
  },
  {
    name: 'rows that are neither T nor R',
    change: ({ values }) => ({ values: [{ rows: 'Q', cols: 32 }, ...values.slice(1)] }),
    message: /^\[program\] values\[0\] rows: got Q, expected T, R/,
  },
  {
    name: 'columns beyond any memory',
    change: ({ values }) => ({ values: [...values, { rows: 'T', cols: 2 ** 30 }] }),
    message: /columns of a value: got 1073741824, expected at most/,
  },
  {
    name: 'logits of T rows',
    change: () => ({ logits: 1 }),
    message: /logits: got rows T, expected R/,
  },
  {
    name: 'hidden states that are no value',
    change: () => ({ hidden: { value: 9, norm: HIDDEN_NORM } }),
    message: /^\[program\] hidden: got 9, expected an index below/,
  },
  {
    name: 'hidden states of R rows',
    change: ({ logits }) => ({ hidden: { value: logits, norm: HIDDEN_NORM } }),
    message: /hidden: got rows R, expected T/,
  },
  {
    name: 'another vocabulary',
    change: () => ({ vocabSize: 33 }),
    message: /^\[embed\] rows of the weight: got 32, expected 33/,
  },
  {
    name: 'instructions that are no array',
    change: () => ({ instructions: 'embed' }),
    message: /^\[program\] instructions: got embed, expected an array/,
  },
  {
    name: 'attention without a layer',
    change: (program) => ({
      ...withInstruction({
        op: 'attention',
        q: 0,
        layer: 0,
        heads: 1,
        scale: 1,
        window: null,
        softcap: null,
        sinks: null,
        out: 3,
      })(program),
      values: [...program.values, { rows: 'T', cols: 32 }],
    }),
    message: /^\[attention\] layer: got 0, expected an index below 0/,
  },
  {
    name: 'an activation of two values where there is one',
    change: withLinear({ activation: 'swiglu_oai' }),
    message: /^\[linear\] activation: swiglu_oai is a function of two values/,
  },
  {
    name: 'columns beyond a value',
    change: withLinear({ column: 1 }),
    message: /^\[linear\] end of the columns of x: got 33, expected at most 32/,
  },
  {
    name: 'experts by a value that is no route',
    change: (program) => ({
      ...withInstruction({
        op: 'moe_linear',
        mode: 'expand',
        x: 0,
        route: 3,
        experts: 4,
        topK: 1,
        weights: [0],
        bias: null,
        shared: null,
        residual: null,
        out: 4,
      })({
        ...program,
        instructions: [
          ...program.instructions,
          {
            op: 'linear',
            x: 0,
            weights: [3],
            biases: [null],
            norm: null,
            residual: null,
            out: 3,
          },
        ],
      }),
      values: [...program.values, { rows: 'T', cols: 3 }, { rows: 'T', cols: 8 }],
      weights: [...program.weights, { name: 'matrix0', kind: 'matrix', rows: 3, cols: 32 }],
    }),
    message: /^\[moe_linear\] route: expected the result of a moe_route over 4 experts/,
  },
  {
    name: 'heads that do not fit the key heads',
    change: (program) => ({
      ...withInstruction({
        op: 'attention',
        q: 0,
        layer: 0,
        heads: 4,
        scale: 1,
        window: null,
        softcap: null,
        sinks: null,
        out: 3,
      })(program),
      values: [...program.values, { rows: 'T', cols: 32 }],
      kvLayers: [{ kvHeads: 3, keyDim: 8, valueDim: 8 }],
    }),
    message: /^\[attention\] heads: got 4, expected a multiple of 3/,
  },
];

describe('a program is refused', () => {
  for (const { name, change, message, code = 'internal' } of cases) {
    test(name, async () => {
      const error = await refusal(change);
      assert.match(error.message, message);
      assert.equal(error.code, code);
    });
  }
});
