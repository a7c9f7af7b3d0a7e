import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Instruction, Program } from '../../core/program';
import { EngineError } from '../../errors';
import type { BlockStore, CompileOptions, Executable, StateStore, StepBatch } from '../backend';
import { validateBatch } from '../batch';
import { activation } from './activation';
import { attention, attentionPrepare, kvWrite, latentPrepare } from './attention';
import { bytesOf, copyFloats, joinFloats, splitFloats } from './bytes';
import { add, embed, gatherRows, scale } from './elementwise';
import { gatedDelta } from './gated_delta';
import { KvPool } from './kv';
import { glu, linear } from './linear';
import { moeGlu, moeLinear, moeRoute } from './moe';
import { norm } from './norm';
import { rope } from './rope';
import { StatePool } from './state';
import { at, type StepContext } from './step';

/** Tokens in one KV block. */
export const BLOCK_SIZE = 16;
/** Longest time without giving the event loop a turn, so that a cancel can arrive. */
const YIELD_MS = 5;

export class ReferenceExecutable implements Executable {
  readonly threads = 1;
  readonly bytesPerToken: number;
  readonly blockStore: BlockStore;
  readonly stateStore?: StateStore;
  private readonly kv: KvPool;
  private readonly states: StatePool;
  private cancelled = false;
  private lastHidden: Float32Array | undefined;

  constructor(
    private readonly program: Program,
    private readonly weights: readonly Float32Array[],
    byteLengths: readonly number[],
    private readonly options: CompileOptions,
  ) {
    this.kv = new KvPool(program.kvLayers, options.kvBlocks, BLOCK_SIZE, options.kvBits);
    this.states = new StatePool(program.stateLayers ?? [], options.stateSlots ?? 1);
    this.bytesPerToken = byteLengths.reduce((sum, bytes) => sum + bytes, 0);
    this.blockStore = blockStoreOf(this.kv);
    if (this.states.layers.length > 0) this.stateStore = this.states;
  }

  async step(batch: StepBatch): Promise<Float32Array> {
    validateBatch(batch, this.program, this.options, BLOCK_SIZE);
    this.cancelled = false;
    const context: StepContext = {
      program: this.program,
      weights: this.weights,
      batch,
      sequenceOf: sequenceOfRows(batch),
      kv: this.kv,
      states: this.states,
      values: [],
    };
    this.states.begin(batch);
    let last = performance.now();
    for (const instruction of this.program.instructions) {
      if (performance.now() - last > YIELD_MS) {
        await nextTurn();
        last = performance.now();
      }
      if (this.cancelled) throw new EngineError('cancelled', 'the step was cancelled');
      run(context, instruction);
    }
    this.states.commit(batch);
    this.lastHidden = context.values[this.program.hidden?.value ?? -1];
    return context.values[this.program.logits] ?? new Float32Array();
  }

  hidden(): Float32Array {
    if (this.lastHidden !== undefined) return this.lastHidden.slice();
    throw new EngineError('bad_request', '[hidden] this program leaves no hidden states');
  }

  copyState(from: number, to: number): void {
    this.states.copy(from, to);
  }

  cancel(): void {
    this.cancelled = true;
  }

  copyBlocks(pairs: Int32Array): void {
    for (let i = 0; i < pairs.length; i += 2)
      copyFloats(this.kv.rowsOf(at(pairs, i)), this.kv.rowsOf(at(pairs, i + 1)));
  }

  dispose(): void {
    this.cancelled = true;
  }
}

function blockStoreOf(kv: KvPool): BlockStore {
  const rowsOf = (blocks: Int32Array) => [...blocks].flatMap((block) => kv.rowsOf(block));
  return {
    blockBytes: bytesOf(kv.rowsOf(0)),
    read: (blocks) => joinFloats(rowsOf(blocks)),
    write: (blocks, bytes) => splitFloats(bytes, rowsOf(blocks), '[write_blocks]'),
  };
}

function sequenceOfRows(batch: StepBatch): Int32Array {
  const rows = new Int32Array(batch.tokens.length);
  for (let s = 0; s + 1 < batch.offsets.length; s++)
    rows.fill(s, batch.offsets[s], batch.offsets[s + 1]);
  return rows;
}

function run(context: StepContext, instruction: Instruction): void {
  switch (instruction.op) {
    case 'embed':
      return embed(context, instruction);
    case 'norm':
      return norm(context, instruction);
    case 'linear':
      return linear(context, instruction);
    case 'glu':
      return glu(context, instruction);
    case 'activation':
      return activation(context, instruction);
    case 'rope':
      return rope(context, instruction);
    case 'kv_write':
      return kvWrite(context, instruction);
    case 'attention_prepare':
      return attentionPrepare(context, instruction);
    case 'latent_prepare':
      return latentPrepare(context, instruction);
    case 'attention':
      return attention(context, instruction);
    case 'gated_delta':
      return gatedDelta(context, instruction);
    case 'moe_route':
      return moeRoute(context, instruction);
    case 'moe_linear':
      return moeLinear(context, instruction);
    case 'moe_glu':
      return moeGlu(context, instruction);
    case 'add':
      return add(context, instruction);
    case 'scale':
      return scale(context, instruction);
    case 'gather_rows':
      return gatherRows(context, instruction);
  }
}
