import { EngineError } from '../../errors';
import { inputsOf, outputsOf, renameValues } from '../instructions';
import type { Instruction, KvLayerSpec, Program, ValueId, ValueSpec } from '../program';

export type Op<N extends Instruction['op']> = Extract<Instruction, { op: N }>;

/** A program under rewriting: producers and readers of values, replacement in place. */
export class ProgramEditor {
  private readonly slots: (Instruction | null)[];
  private readonly values: ValueSpec[];
  private readonly producers = new Map<ValueId, number>();
  /** Indices of the instructions that read a value, once for each time that they do. */
  private readonly readsOf = new Map<ValueId, number[]>();

  constructor(private readonly program: Program) {
    this.slots = program.instructions.map(() => null);
    this.values = [...program.values];
    for (const [index, i] of program.instructions.entries()) this.set(index, i);
  }

  /** null = removed */
  get instructions(): readonly (Instruction | null)[] {
    return this.slots;
  }

  set(index: number, instruction: Instruction | null): void {
    const old = this.slots[index] ?? null;
    if (old !== null) {
      for (const id of inputsOf(old)) {
        const left = this.usesOf(id);
        left.splice(left.indexOf(index), 1);
      }
      for (const id of outputsOf(old)) {
        if (this.producers.get(id) === index) this.producers.delete(id);
      }
    }
    this.slots[index] = instruction;
    if (instruction === null) return;
    for (const id of inputsOf(instruction)) this.usesOf(id).push(index);
    for (const id of outputsOf(instruction)) this.producers.set(id, index);
  }

  cols(id: ValueId): number {
    return this.values[id]?.cols ?? 0;
  }

  newValue(spec: ValueSpec): ValueId {
    return this.values.push(spec) - 1;
  }

  kvLayer(layer: number): KvLayerSpec | undefined {
    return this.program.kvLayers[layer];
  }

  /** The producer of `id` when it is a `name` instruction and `id` is read exactly once. */
  soleProducer<N extends Instruction['op']>(
    id: ValueId,
    name: N,
  ): { index: number; at: Op<N> } | null {
    const producer = this.producer(id, name);
    return producer !== null && this.uses(id) === 1 ? producer : null;
  }

  /** The producer of `id` when it is a `name` instruction. */
  producer<N extends Instruction['op']>(id: ValueId, name: N): { index: number; at: Op<N> } | null {
    const index = this.producers.get(id);
    const at = index === undefined ? null : this.slots[index];
    return index === undefined || at?.op !== name ? null : { index, at: at as Op<N> };
  }

  /** How many times `id` is read. */
  uses(id: ValueId): number {
    const { logits, hidden } = this.program;
    return this.usesOf(id).length + +(id === logits) + +(id === hidden?.value);
  }

  /** Indices of the instructions that read `id`, in order. */
  readers(id: ValueId): number[] {
    return [...new Set(this.usesOf(id))].sort((a, b) => a - b);
  }

  /** Replaces several instructions by one at the place of one of them. */
  replace(indices: readonly number[], at: number, instruction: Instruction): void {
    for (const index of indices) this.set(index, null);
    this.set(at, instruction);
  }

  /** Drops removed instructions and unused values; renumbers the rest. */
  finish(): Program {
    const instructions = this.slots.filter((i) => i !== null);
    const ids = new Map<ValueId, ValueId>();
    const values: ValueSpec[] = [];
    for (const out of instructions.flatMap(outputsOf)) {
      const spec = this.values[out];
      if (spec !== undefined) ids.set(out, values.push(spec) - 1);
    }
    const rename = (id: ValueId): ValueId => {
      const renamed = ids.get(id);
      if (renamed !== undefined) return renamed;
      throw new EngineError('internal', `[fuse] value ${id} is read but never written`);
    };
    const { logits, hidden } = this.program;
    return {
      ...this.program,
      values,
      instructions: instructions.map((i) => renameValues(i, rename, rename)),
      logits: rename(logits),
      ...(hidden && { hidden: { ...hidden, value: rename(hidden.value) } }),
    };
  }

  private usesOf(id: ValueId): number[] {
    const known = this.readsOf.get(id);
    if (known !== undefined) return known;
    const fresh: number[] = [];
    this.readsOf.set(id, fresh);
    return fresh;
  }
}

export type PlainLinear = Op<'linear'> & { readonly norm: null; readonly residual: null };

/** A linear in its canonical form. */
export function isPlain(linear: Op<'linear'>): linear is PlainLinear {
  const { norm, residual, join, column, factor, activation } = linear;
  const isExtended = [join, column, factor, activation].some((field) => field !== undefined);
  return norm === null && residual === null && !isExtended;
}

/** The linear that computes several linears of one input side by side. */
export function sideBySide(linears: readonly PlainLinear[], x: ValueId, out: ValueId): PlainLinear {
  return {
    op: 'linear',
    x,
    weights: linears.flatMap((l) => l.weights),
    biases: linears.flatMap((l) => l.biases),
    norm: null,
    residual: null,
    out,
  };
}
