/** Small programs, run on the native backend and compared with the reference. */
import assert from 'node:assert/strict';
import type {
  Backend,
  CompileOptions,
  Executable,
  KvBits,
  StepBatch,
} from '../../extension/engine/backend/backend';
import {
  loadMetalBackend,
  loadNativeBackend,
  nativeInstructionSets,
} from '../../extension/engine/backend/native';
import { createReferenceBackend } from '../../extension/engine/backend/reference/index';
import type {
  Instruction,
  KvLayerSpec,
  NormSpec,
  Program,
  Rows,
  StateLayerSpec,
  ValueId,
  ValueSpec,
  WeightId,
  WeightSpec,
} from '../../extension/engine/core/program';
import { randomNumbers, TestWeights, type Coding } from './weights';

export const MAX_TOKENS = 96;
/** Tokens of the key/value pool, for blocks of any size. */
const POOL_TOKENS = 1024;

/** Builds a program and its random weights. The program's logits are whatever value `finish` is given. */
export class TestProgram {
  readonly random: () => number;
  readonly weights: TestWeights;
  private readonly values: ValueSpec[] = [];
  private readonly specs: WeightSpec[] = [];
  private readonly kvLayers: KvLayerSpec[] = [];
  private readonly stateLayers: StateLayerSpec[] = [];
  private readonly instructions: Instruction[] = [];
  private vocabSize = 0;

  constructor(seed = 1) {
    this.random = randomNumbers(seed);
    this.weights = new TestWeights(this.random);
  }

  value(cols: number, rows: Rows = 'T'): ValueId {
    return this.values.push({ rows, cols }) - 1;
  }

  matrix(rows: number, cols: number, coding: Coding = 'F32', scale = 1): WeightId {
    const name = `matrix${this.specs.length}`;
    this.weights.add(name, rows, cols, coding, scale);
    return this.specs.push({ name, kind: 'matrix', rows, cols }) - 1;
  }

  vector(cols: number, center = 0): WeightId {
    const name = `vector${this.specs.length}`;
    this.weights.add(name, 1, cols, 'BF16', 1, center);
    return this.specs.push({ name, kind: 'vector', rows: 1, cols }) - 1;
  }

  kvLayer(spec: KvLayerSpec): number {
    return this.kvLayers.push(spec) - 1;
  }

  stateLayer(spec: StateLayerSpec): number {
    return this.stateLayers.push(spec) - 1;
  }

  rmsNorm(cols: number, offset = 0): NormSpec {
    return { kind: 'rms', weight: this.vector(cols, 1), bias: null, eps: 1e-6, offset };
  }

  push(instruction: Instruction): void {
    this.instructions.push(instruction);
  }

  /** The first value, [T, cols]: a random row for each token id. `vocab` must be the columns of the logits. */
  embed(vocab: number, cols: number, coding: Coding = 'F32'): ValueId {
    this.vocabSize = vocab;
    const out = this.value(cols);
    this.push({ op: 'embed', weight: this.matrix(vocab, cols, coding), scale: 1, out });
    return out;
  }

  /** The same with the rows of `table` [cols, cols], which has as many columns as the vocabulary has tokens. */
  embedTable(table: Float32Array, cols: number): ValueId {
    this.vocabSize = cols;
    const name = `matrix${this.specs.length}`;
    this.weights.addValues(name, cols, cols, table);
    const weight = this.specs.push({ name, kind: 'matrix', rows: cols, cols }) - 1;
    const out = this.value(cols);
    this.push({ op: 'embed', weight, scale: 1, out });
    return out;
  }

  linear(x: ValueId, rows: number, coding: Coding = 'F32', scale = 0.3): ValueId {
    const cols = this.values[x]?.cols ?? 0;
    const out = this.value(rows, this.values[x]?.rows);
    const weights = [this.matrix(rows, cols, coding, scale)];
    this.push({ op: 'linear', x, weights, biases: [null], norm: null, residual: null, out });
    return out;
  }

  /** Ends the program with the wanted rows of `x`, [T, vocab], as logits. */
  finish(x: ValueId): Program {
    const logits = this.value(this.values[x]?.cols ?? 0, 'R');
    this.push({ op: 'gather_rows', x, out: logits });
    this.weights.save();
    return {
      model: 'test',
      vocabSize: this.vocabSize,
      contextLength: POOL_TOKENS,
      values: this.values,
      weights: this.specs,
      kvLayers: this.kvLayers,
      stateLayers: this.stateLayers,
      instructions: this.instructions,
      logits,
    };
  }
}

/** Tokens that one sequence of a step adds, from a position on. */
export interface Part {
  readonly tokens: readonly number[];
  readonly start: number;
}

/** Compiled, and fed by sequences instead of blocks: sequence s owns an equal share of the pool. */
export class Runner {
  private constructor(
    readonly executable: Executable,
    private readonly blockSize: number,
    private readonly sequences: number,
  ) {}

  static async create(
    backend: Backend,
    program: Program,
    weights: TestWeights,
    options: Partial<CompileOptions> & { readonly sequences?: number } = {},
  ): Promise<Runner> {
    const { sequences = 1, ...rest } = options;
    const executable = await backend.compile(program, weights, {
      precision: 'exact',
      kvBlocks: POOL_TOKENS / backend.kvBlockSize,
      maxTokens: MAX_TOKENS,
      maxLogitRows: MAX_TOKENS,
      threads: 2,
      stateSlots: sequences,
      activationBits: { attention: 8, others: 8 },
      ...rest,
    });
    return new Runner(executable, backend.kvBlockSize, sequences);
  }

  /** Logits of all rows of a step over the sequences `first`, `first` + 1, … */
  step(parts: readonly Part[], first = 0): Promise<Float32Array> {
    return this.executable.step(this.batch(parts, first));
  }

  batch(parts: readonly Part[], first = 0): StepBatch {
    const tokens = parts.flatMap((part) => part.tokens);
    const blocksPerSequence = Math.floor(POOL_TOKENS / this.sequences / this.blockSize);
    const offsets = [0];
    for (const part of parts) offsets.push((offsets.at(-1) ?? 0) + part.tokens.length);
    return {
      tokens: Int32Array.from(tokens),
      positions: Int32Array.from(
        parts.flatMap(({ tokens: t, start }) => t.map((_, i) => start + i)),
      ),
      offsets: Int32Array.from(offsets),
      // From the end of the pool, so that a block's number is not its place in the sequence.
      blockTables: Int32Array.from(
        { length: parts.length * blocksPerSequence },
        (_, i) => POOL_TOKENS / this.blockSize - 1 - (first * blocksPerSequence + i),
      ),
      blocksPerSequence,
      logitRows: Int32Array.from(tokens.keys()),
      stateSlots: Int32Array.from(parts.keys(), (i) => first + i),
    };
  }
}

/** `count` token ids below `vocab`. */
export function randomTokens(count: number, vocab: number, seed = 7): number[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, () => Math.floor(random() * vocab));
}

/** Largest difference as a fraction of the largest expected value. */
export function relativeError(got: Float32Array, expected: Float32Array): number {
  assert.equal(got.length, expected.length);
  let difference = 0;
  let largest = 0;
  for (const [i, value] of expected.entries()) {
    const d = Math.abs((got[i] ?? NaN) - value);
    difference = Number.isNaN(d) ? Infinity : Math.max(difference, d);
    largest = Math.max(largest, Math.abs(value));
  }
  return difference / largest;
}

/** The CPU, or the GPU when test/metal/engine.test.ts asks for it. */
export function backendUnderTest(): Backend {
  return process.env.ANLLM_TEST_BACKEND === 'metal' ? loadMetalBackend() : loadNativeBackend();
}

/** Every instruction set of this machine, or the GPU when test/metal/engine.test.ts asks for it. */
function backendsUnderTest(): Backend[] {
  if (process.env.ANLLM_TEST_BACKEND === 'metal') return [backendUnderTest()];
  return nativeInstructionSets().map((isa) => loadNativeBackend({ isa }));
}

/** What the backend promises: float32 activations, and integers of 8 and 16 bits beside keys and values in binary16. */
const TOLERANCE = { exact: 1e-5, fast: 0.02, fast16: 1e-3 };
const VARIANTS = [
  { name: 'exact', precision: 'exact' },
  { name: 'fast', precision: 'fast', activationBits: { attention: 8, others: 8 } },
  { name: 'fast16', precision: 'fast', activationBits: { attention: 16, others: 16 } },
] as const;

/** A key or value code that float32 and float64 sums round apart moves an output by 1 / 127 of a value at most. */
export const CODE_TOLERANCE = 1 / 127;

interface AgreementOptions {
  readonly sequences?: number;
  readonly fastTolerance?: number;
  readonly fast16Tolerance?: number;
  readonly kvBits?: KvBits;
}

/**
 * Runs the steps on the reference, and on every instruction set of this machine in all precisions; outputs must agree.
 * `fastTolerance` is for ops that do nothing in fewer bits, `fast16Tolerance` for weights that lose some themselves.
 */
export async function assertMatchesReference(
  test: TestProgram,
  program: Program,
  steps: readonly (readonly Part[])[],
  {
    sequences = 1,
    fastTolerance = TOLERANCE.fast,
    fast16Tolerance = Math.min(TOLERANCE.fast16, fastTolerance),
    kvBits = 16,
  }: AgreementOptions = {},
): Promise<void> {
  const run = async (backend: Backend, options: Partial<CompileOptions>) => {
    const runner = await Runner.create(backend, program, test.weights, {
      ...options,
      kvBits,
      sequences,
    });
    const outputs: Float32Array[] = [];
    for (const parts of steps) outputs.push(await runner.step(parts));
    runner.executable.dispose();
    return outputs;
  };
  const expected = await run(createReferenceBackend(), { precision: 'exact' });
  for (const backend of backendsUnderTest()) {
    const isMetal = backend.name === 'metal';
    for (const { name, ...options } of VARIANTS) {
      const got = await run(backend, options);
      // A GPU keeps whatever it can in halves.
      const { fast: halves } = TOLERANCE;
      const limits = isMetal
        ? { exact: TOLERANCE.exact, fast: halves, fast16: halves }
        : { exact: TOLERANCE.exact, fast: fastTolerance, fast16: fast16Tolerance };
      if (kvBits === 8) limits.exact = fastTolerance;
      if (kvBits === 8 && !isMetal) limits.fast16 = fastTolerance;
      const limit = limits[name];
      for (const [i, output] of got.entries()) {
        const error = relativeError(output, expected[i] ?? new Float32Array());
        const found = `${backend.description}, ${name}, step ${i}: relative error ${error} over ${limit}`;
        assert.ok(error <= limit, found);
      }
    }
  }
  test.weights.close();
}
