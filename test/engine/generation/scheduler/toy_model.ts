import assert from 'node:assert/strict';
import type {
  BlockStore,
  Draw,
  Drawn,
  Executable,
  StateStore,
  StepBatch,
} from '../../../../extension/engine/backend/backend';
import { EngineError } from '../../../../extension/engine/errors';
import type { Tokenizer } from '../../../../extension/engine/loading/tokenizer';
import { drawTokens } from '../draw_tokens';
import { mix, Random } from './random';

export const EOS = 47;
export const VOCAB_SIZE = 48;
/** Letters, a space, some words, and the two bytes of é apart. */
const WORDS = [
  ...'abcdefghijklmnopqrstuvwxyz ',
  'ab',
  'cd',
  're',
  'ret',
  'return',
  'the ',
  '\n',
  '  ',
  '()',
];
const BYTES: readonly Uint8Array[] = [
  ...WORDS.map((word) => new TextEncoder().encode(word)),
  Uint8Array.of(0xc3),
  Uint8Array.of(0xa9),
];

/** A prompt that shares nothing with that of another seed. */
export function toyPrompt(length: number, seed: number): number[] {
  const random = new Random(seed);
  return Array.from({ length }, () => random.int(0, VOCAB_SIZE - 2));
}

export const toyTokenizer: Tokenizer = {
  vocabSize: VOCAB_SIZE,
  prefixIds: [],
  suffixIds: [],
  eosId: EOS,
  controlTexts: [],
  prepare: async () => undefined,
  leastTokens: () => 0,
  encode: (text) => [...text].map((letter) => Math.max(0, WORDS.indexOf(letter))),
  encodeTemplate: (text) => [...text].map((letter) => Math.max(0, WORDS.indexOf(letter))),
  decode: (ids) => ids.map((id) => WORDS[id] ?? '').join(''),
  tokenBytes: (id) => BYTES[id] ?? new Uint8Array(),
  specialId: () => null,
  isSpecial: (id) => id >= BYTES.length,
};

/** What a scheduler knows of a checkpoint whose tokens have no texts: none of them ends an answer. */
export const textless = (vocabSize: number) => ({
  tokenizer: { ...toyTokenizer, vocabSize, isSpecial: () => false },
  eosIds: [],
  vocabSize,
});

export interface ToyOptions {
  readonly numBlocks: number;
  readonly blockSize: number;
  readonly maxTokens?: number;
  readonly maxRows?: number;
  readonly copies?: boolean;
  /** Virtual milliseconds: a step, and each of its rows. */
  readonly stepMs?: number;
  readonly rowMs?: number;
  /** Slots for recurrent state; without them there is none. */
  readonly states?: number;
  /** The likeliest next token depends on the last one alone most of the time, so that texts repeat themselves. */
  readonly repeats?: boolean;
  /** In how many of 100 places another token is the likeliest than without it. */
  readonly mistakes?: number;
}

/**
 * A language model whose next token depends on every token before it, as it finds them in its own paged memory: each
 * cell is a hash of its token, its position and all cells before. A wrong block, or a stale one, changes the answer.
 * Time is virtual.
 */
export class ToyModel implements Executable {
  readonly bytesPerToken = 1;
  readonly threads = 1;
  readonly copyBlocks?: (pairs: Int32Array) => void;
  /** Called before each step does anything. */
  onStep: (batch: StepBatch, step: number) => void = () => {};
  /** Called when half of the time of a step is over. */
  onHalf: (batch: StepBatch, step: number) => void = () => {};
  numSteps = 0;
  clock = 0;
  private readonly cells: Uint32Array;
  /** A hash of all tokens that a slot has seen, and their number; null when a step has spoilt it. */
  private readonly slots: ({ hash: number; seen: number } | null)[];
  private isRunning = false;
  private isCancelled = false;

  constructor(private readonly options: ToyOptions) {
    this.cells = new Uint32Array(options.numBlocks * options.blockSize);
    this.slots = Array.from({ length: options.states ?? 0 }, () => ({ hash: 0, seen: 0 }));
    if (options.copies === true) this.copyBlocks = (pairs) => this.copy(pairs);
  }

  readonly now = (): number => this.clock;

  step(batch: StepBatch): Promise<Float32Array> {
    return this.run(batch, (logits) => logits);
  }

  stepDrawn(batch: StepBatch, draws: readonly (Draw | null)[], columns: number): Promise<Drawn> {
    return this.run(batch, (logits) => drawTokens(logits, draws, columns));
  }

  /** One step; it counts as running until those who wait for it go on. */
  private run<T>(batch: StepBatch, resultOf: (logits: Float32Array) => T): Promise<T> {
    const result = this.runAlone(batch, resultOf);
    const end = () => {
      this.isRunning = false;
    };
    result.then(end, end);
    return result;
  }

  private async runAlone<T>(batch: StepBatch, resultOf: (logits: Float32Array) => T): Promise<T> {
    if (this.isRunning) throw new Error('two steps at once');
    this.isRunning = true;
    this.isCancelled = false;
    const step = ++this.numSteps;
    try {
      this.check(batch);
      this.onStep(batch, step);
      const ms = (this.options.stepMs ?? 1) + (this.options.rowMs ?? 0.4) * batch.tokens.length;
      this.clock += ms / 2;
      await Promise.resolve();
      this.onHalf(batch, step);
      await Promise.resolve();
      if (this.isCancelled) {
        this.spoil(batch);
        throw new EngineError('cancelled', 'the step was cancelled');
      }
      this.clock += ms / 2;
      return resultOf(this.compute(batch));
    } catch (error) {
      this.spoil(batch);
      throw error;
    }
  }

  /** The cells of blocks as they are in memory. */
  get blockStore(): BlockStore {
    const { blockSize } = this.options;
    const cellsOf = (block: number) => {
      if (this.isRunning) throw new Error('blocks are read or written during a step');
      return this.cells.subarray(block * blockSize, (block + 1) * blockSize);
    };
    return {
      blockBytes: 4 * blockSize,
      read: (blocks) => {
        const cells = Uint32Array.from([...blocks].flatMap((block) => [...cellsOf(block)]));
        return new Uint8Array(cells.buffer);
      },
      write: (blocks, bytes) => {
        const cells = new Uint32Array(Uint8Array.from(bytes).buffer);
        assert.equal(cells.length, blocks.length * blockSize);
        for (const [i, block] of blocks.entries())
          cellsOf(block).set(cells.subarray(i * blockSize, (i + 1) * blockSize));
      },
    };
  }

  get stateStore(): StateStore {
    const expectIdle = () => {
      if (this.isRunning) throw new Error('a state is read or written during a step');
    };
    return {
      stateBytes: 4,
      read: (slot) => {
        expectIdle();
        const { hash } = this.slots[slot] ?? assert.fail(`slot ${slot} is read and void`);
        return new Uint8Array(Uint32Array.of(hash).buffer);
      },
      write: (slot, seen, bytes) => {
        expectIdle();
        const [hash = 0] = new Uint32Array(Uint8Array.from(bytes).buffer);
        assert.ok(slot < this.slots.length, `slot ${slot}`);
        this.slots[slot] = { hash, seen };
      },
    };
  }

  cancel(): void {
    if (!this.isRunning) throw new Error('no step to cancel');
    this.isCancelled = true;
  }

  dispose(): void {}

  private copy(pairs: Int32Array): void {
    if (this.isRunning) throw new Error('blocks are copied during a step');
    const { blockSize } = this.options;
    for (let i = 0; i < pairs.length; i += 2) {
      const source = (pairs[i] ?? 0) * blockSize;
      this.cells.copyWithin((pairs[i + 1] ?? 0) * blockSize, source, source + blockSize);
    }
  }

  private compute(batch: StepBatch): Float32Array {
    const states = new Uint32Array(batch.tokens.length);
    for (const { row, sequence, token, position, cellOf } of this.rows(batch)) {
      let history = 0;
      for (let p = 0; p < position; p++) history = mix(history + p, this.cells[cellOf(p)] ?? 0);
      const state = mix(
        mix(history, position),
        token ^ this.advance(batch, sequence, position, token),
      );
      this.cells[cellOf(position)] = state;
      states[row] = state;
    }
    const logits = new Float32Array(batch.logitRows.length * VOCAB_SIZE);
    for (const [i, row] of batch.logitRows.entries()) {
      for (let id = 0; id < VOCAB_SIZE; id++) {
        logits[i * VOCAB_SIZE + id] = (mix(states[row] ?? 0, id) / 2 ** 32) * 8 - 3;
      }
      if ((states[row] ?? 0) % 100 < (this.options.mistakes ?? 0)) logits[i * VOCAB_SIZE] = 20;
      const habit = i * VOCAB_SIZE + (mix(7, batch.tokens[row] ?? 0) % EOS);
      if (this.options.repeats === true) logits[habit] = (logits[habit] ?? 0) + 7;
    }
    return logits;
  }

  readonly copyState = (from: number, to: number): void => {
    if (this.isRunning) throw new Error('a state is copied during a step');
    const source = this.slots[from];
    if (!source) throw new Error(`slot ${from} is copied and void`);
    this.slots[to] = { ...source };
  };

  /** The new hash of a sequence's state; 0 for a model without. */
  private advance(
    { stateSlots }: StepBatch,
    sequence: number,
    position: number,
    token: number,
  ): number {
    if (this.slots.length === 0) return 0;
    const slot = stateSlots?.[sequence] ?? -1;
    const state = position === 0 ? { hash: 0, seen: 0 } : this.slots[slot];
    if (state?.seen !== position)
      throw new Error(`slot ${slot} has seen ${state?.seen} tokens, not ${position}`);
    const hash = mix(state.hash, token + 1);
    this.slots[slot] = { hash, seen: position + 1 };
    return hash;
  }

  /** What a step that ended early leaves behind. */
  private spoil(batch: StepBatch): void {
    for (const { position, cellOf } of this.rows(batch)) this.cells[cellOf(position)] = 0xdead;
    for (const slot of batch.stateSlots ?? []) if (this.slots.length > 0) this.slots[slot] = null;
  }

  private *rows(batch: StepBatch) {
    const { blockSize } = this.options;
    const { offsets, tokens, positions, blockTables, blocksPerSequence } = batch;
    for (let s = 0; s + 1 < offsets.length; s++) {
      const cellOf = (p: number) =>
        (blockTables[s * blocksPerSequence + Math.floor(p / blockSize)] ?? 0) * blockSize +
        (p % blockSize);
      for (let row = offsets[s] ?? 0; row < (offsets[s + 1] ?? 0); row++) {
        yield { row, sequence: s, token: tokens[row] ?? 0, position: positions[row] ?? 0, cellOf };
      }
    }
  }

  /** The limits of a real backend, and that no sequence of a step touches what another one writes. */
  private check(batch: StepBatch): void {
    const { numBlocks, blockSize, maxTokens = Infinity, maxRows = Infinity } = this.options;
    if (batch.tokens.length === 0 || batch.tokens.length > maxTokens)
      throw new Error(`${batch.tokens.length} tokens`);
    if (batch.logitRows.length > maxRows)
      throw new Error(`${batch.logitRows.length} rows of logits`);
    const writer = new Map<number, number>();
    for (const { position, sequence, cellOf } of this.rows(batch)) {
      const block = Math.floor(cellOf(position) / blockSize);
      if (this.slots.length > 0) {
        const slots = new Set(batch.stateSlots);
        if (slots.size !== batch.offsets.length - 1 || Math.max(...slots) >= this.slots.length)
          throw new Error(`state slots ${[...slots].join()} of ${this.slots.length}`);
      }
      if (block < 0 || block >= numBlocks) throw new Error(`block ${block}`);
      if ((writer.get(block) ?? sequence) !== sequence)
        throw new Error(`block ${block} has two writers`);
      writer.set(block, sequence);
    }
    for (const { position, sequence, cellOf } of this.rows(batch)) {
      for (let p = 0; p < position; p += blockSize) {
        const by = writer.get(Math.floor(cellOf(p) / blockSize));
        if (by !== undefined && by !== sequence)
          throw new Error('a block is read while another sequence writes it');
      }
    }
  }
}
