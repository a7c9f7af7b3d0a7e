import { EngineError } from '../../errors';
import type { Code, Op } from './code';
import { MAX_CLOSURE, MAX_STATES } from './limits';

/** A place to go on at, or a count, with all that lies below it. Equal stacks are one object. */
interface Frame {
  readonly id: number;
  readonly node: number;
  readonly count: number;
  readonly parent: Frame | null;
}

/** One way to read on: an op that reads a byte, or null where the whole text may end. */
interface Thread {
  readonly op: Extract<Op, { op: 'byte' }> | null;
  readonly frame: Frame | null;
}

/** All ways to read on from somewhere. Equal ones are one object, so that what is known of them is learned once. */
export interface State {
  readonly threads: readonly Thread[];
  /** The text may end here. */
  readonly isAccepting: boolean;
  /** And must. */
  readonly isFinal: boolean;
  /** By byte: undefined = not known yet, null = no text of the grammar. */
  readonly next: (State | null | undefined)[];
  /** Tokens that can come next, a bit each; null = not known yet. */
  tokens: Uint32Array | null;
}

/** Nodes and frames make one number as the key of a place. */
const FRAMES = 2 ** 28;

/**
 * Recognizes the texts of a grammar byte by byte, following all ways at once (Thompson 1968, with the stacks of the rules
 * shared as in Tomita 1985); its states are made when they are first reached, and kept.
 */
export class Automaton {
  readonly start: State;
  private readonly states = new Map<string, State>();
  private readonly frames = new Map<string, Frame>();
  private numFrames = 0;

  constructor(private readonly code: Code) {
    this.start = this.stateOf([[code.start, null]]);
  }

  step(state: State, byte: number): State | null {
    const known = state.next[byte];
    if (known !== undefined) return known;
    const places: Place[] = [];
    for (const { op, frame } of state.threads) {
      if (op !== null && op.first <= byte && byte <= op.last) places.push([op.next, frame]);
    }
    const next = places.length === 0 ? null : this.stateOf(places);
    state.next[byte] = next;
    return next;
  }

  private stateOf(places: readonly Place[]): State {
    const threads = this.follow(places);
    const key = [...threads.keys()].sort((a, b) => a - b).join();
    const known = this.states.get(key);
    if (known !== undefined) return known;
    // What is forgotten is found anew; who is in a state keeps it.
    if (this.states.size >= MAX_STATES) this.states.clear();
    const list = [...threads.values()];
    const isAccepting = list.some(({ op }) => op === null);
    const state: State = {
      threads: list,
      isAccepting,
      isFinal: isAccepting && list.length === 1,
      next: [],
      tokens: null,
    };
    this.states.set(key, state);
    return state;
  }

  /** The threads of places, by number, after everything that reads nothing. */
  private follow(places: readonly Place[]): Map<number, Thread> {
    const threads = new Map<number, Thread>();
    const seen = new Set<number>();
    const left = [...places];
    for (let place = left.pop(); place !== undefined; place = left.pop()) {
      const [node, frame] = place;
      const key = (node + 1) * FRAMES + (frame?.id ?? 0);
      if (seen.has(key)) continue;
      if (seen.size >= MAX_CLOSURE) throw tooManyWays();
      seen.add(key);
      const op = this.opAt(node);
      if (op === null || op.op === 'byte') threads.set(key, { op, frame });
      else this.go(op, node, frame, left);
    }
    return threads;
  }

  private go(
    op: Exclude<Op, { op: 'byte' }>,
    node: number,
    frame: Frame | null,
    left: Place[],
  ): void {
    switch (op.op) {
      case 'split':
        for (const next of op.next) left.push([next, frame]);
        break;
      case 'call': {
        // A rule that ends with another one leaves no frame: texts may be as long as they like.
        const isTail = this.opAt(op.next)?.op === 'return';
        const entry = this.code.entries.get(op.rule) ?? ENDED;
        left.push([entry, isTail ? frame : this.push(op.next, 0, frame)]);
        break;
      }
      case 'repeat':
        this.repeat(op, this.push(node, 0, frame), left);
        break;
      case 'loop': {
        const repeat = this.opAt(op.repeat);
        if (frame === null || repeat?.op !== 'repeat') throw new Error('[constrain] a loop alone');
        // Without an upper bound it does not matter how often more than the lower one.
        const count = Math.min(frame.count + 1, repeat.most === Infinity ? repeat.least : Infinity);
        this.repeat(repeat, this.push(op.repeat, count, frame.parent), left);
        break;
      }
      case 'return':
        left.push(frame === null ? [ENDED, null] : [frame.node, frame.parent]);
    }
  }

  private repeat(
    { part, least, most, next }: Extract<Op, { op: 'repeat' }>,
    frame: Frame,
    left: Place[],
  ): void {
    if (frame.count >= least) left.push([next, frame.parent]);
    if (frame.count < most) left.push([part, frame]);
  }

  private opAt(node: number): Op | null {
    return this.code.ops[node] ?? null;
  }

  private push(node: number, count: number, parent: Frame | null): Frame {
    const key = `${node} ${count} ${parent?.id ?? 0}`;
    const known = this.frames.get(key);
    if (known !== undefined) return known;
    const frame = { id: ++this.numFrames, node, count, parent };
    if (this.frames.size >= MAX_STATES) this.frames.clear();
    this.frames.set(key, frame);
    return frame;
  }
}

type Place = readonly [node: number, frame: Frame | null];

/** Where the whole text may end. */
const ENDED = -1;

function tooManyWays(): EngineError {
  return new EngineError(
    'bad_request',
    `grammar: more than ${MAX_CLOSURE} ways to go on at one place; a rule that begins with itself, or one that is too ambiguous`,
  );
}
