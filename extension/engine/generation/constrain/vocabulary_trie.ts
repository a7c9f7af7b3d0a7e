import type { Automaton, State } from './automaton';

const ROOM = 1024;

/** The bytes of a vocabulary as a tree, for all tokens that an automaton can read at once. */
export class VocabularyTrie {
  /** Nodes in order of depth first: the byte that leads to each, its depth from 0, and where its subtree ends. */
  private bytes = new Uint8Array(ROOM);
  private depths = new Uint16Array(ROOM);
  private ends = new Int32Array(ROOM);
  /** Tokens in the same order, and of each node the first of its own. */
  private readonly ids: number[] = [];
  private firsts = new Int32Array(ROOM);
  private size = 0;

  /** `tokens`: bytes by id; a token without bytes is in no text. */
  constructor(private readonly tokens: readonly Uint8Array[]) {
    const order = inOrder(tokens);
    const path: number[] = [];
    let before: Uint8Array = new Uint8Array();
    for (const id of order) {
      const token = tokens[id] as Uint8Array;
      let shared = 0;
      while (shared < before.length && before[shared] === token[shared]) shared++;
      this.close(path, shared);
      for (let depth = shared; depth < token.length; depth++) {
        path.push(this.add(token[depth] ?? 0, depth));
      }
      this.ids.push(id);
      before = token;
    }
    this.close(path, 0);
    this.firsts[this.size] = this.ids.length;
  }

  /** One bit a token that the automaton reads whole from `state`. */
  readable(automaton: Automaton, state: State): Uint32Array {
    const bits = new Uint32Array(Math.ceil(this.tokens.length / 32));
    const { bytes, depths, ends, firsts, ids, size } = this;
    const path: State[] = [state];
    for (let node = 0; node < size;) {
      const depth = depths[node] as number;
      const next = automaton.step(path[depth] as State, bytes[node] as number);
      if (next === null) {
        node = ends[node] as number;
        continue;
      }
      path[depth + 1] = next;
      const last = firsts[node + 1] as number;
      for (let i = firsts[node] as number; i < last; i++) {
        const id = ids[i] as number;
        bits[id >> 5] = (bits[id >> 5] as number) | (1 << (id & 31));
      }
      node++;
    }
    return bits;
  }

  private add(byte: number, depth: number): number {
    if (this.size + 1 >= this.bytes.length) this.grow();
    const node = this.size++;
    this.bytes[node] = byte;
    this.depths[node] = depth;
    this.firsts[node] = this.ids.length;
    return node;
  }

  /** The nodes of a path from a depth on have no more below them. */
  private close(path: number[], depth: number): void {
    for (const node of path.splice(depth)) this.ends[node] = this.size;
  }

  private grow(): void {
    const twice = <T extends { length: number; set(from: T): void }>(
      array: T,
      create: (length: number) => T,
    ): T => {
      const larger = create(2 * array.length);
      larger.set(array);
      return larger;
    };
    this.bytes = twice(this.bytes, (n) => new Uint8Array(n));
    this.depths = twice(this.depths, (n) => new Uint16Array(n));
    this.ends = twice(this.ends, (n) => new Int32Array(n));
    this.firsts = twice(this.firsts, (n) => new Int32Array(n));
  }
}

/** Ids by the bytes of their tokens. As strings of Latin-1 they compare fastest, and in the same order. */
function inOrder(tokens: readonly Uint8Array[]): number[] {
  const keyed = tokens
    .map((token, id) => ({ id, key: Buffer.from(token).toString('latin1') }))
    .filter(({ key }) => key !== '');
  return keyed.sort((a, b) => (a.key < b.key ? -1 : +(a.key > b.key))).map(({ id }) => id);
}
