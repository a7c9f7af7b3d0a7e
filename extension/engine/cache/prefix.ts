/** One block of tokens in the tree: its keys and values depend on its tokens and on all of its ancestors. */
export interface PrefixNode {
  /** Null for the root only. */
  readonly parent: PrefixNode | null;
  readonly children: Set<PrefixNode>;
  /** At most blockSize ids; a node with fewer is the end of some text and has no children. */
  readonly tokens: readonly number[];
  readonly block: number;
  /** Hash of the tokens from the start of the text to the end of this node. */
  readonly hash: number;
}

/** Hash of a text that goes on with `tokens` after a text with hash `parent`; 32 bits. */
export type BlockHash = (parent: number, tokens: readonly number[]) => number;

/**
 * Which blocks hold which text. Full blocks are found by content: hash of parent and tokens, then the tokens are
 * compared, so that a collision costs a miss and never a wrong block. Nodes that no sequence holds are idle and
 * ordered by last use.
 */
export class PrefixTree {
  readonly root: PrefixNode = newNode(null, [], -1, 0);
  private readonly full = new Map<number, PrefixNode>();
  /** Oldest first. Paths are released from their end, so a child always stands before its parent. */
  private readonly idle = new Set<PrefixNode>();

  constructor(
    private readonly blockSize: number,
    private readonly hash: BlockHash = hashBlock,
  ) {}

  get numIdle(): number {
    return this.idle.size;
  }

  /** The child of `parent` that holds exactly this full block of tokens. */
  find(parent: PrefixNode, tokens: readonly number[]): PrefixNode | null {
    const node = this.full.get(this.hash(parent.hash, tokens));
    if (node?.parent !== parent) return null;
    return commonPrefix(node.tokens, tokens) === this.blockSize ? node : null;
  }

  /** Nodes of full blocks within the first `length` of the tokens, of those that follow `path`. */
  match(tokens: readonly number[], length: number, path: readonly PrefixNode[] = []): PrefixNode[] {
    const { blockSize } = this;
    const found: PrefixNode[] = [];
    let node = path.at(-1) ?? this.root;
    for (let end = (path.length + 1) * blockSize; end <= length; end += blockSize) {
      const next = this.find(node, tokens.slice(end - blockSize, end));
      if (next === null) break;
      found.push(next);
      node = next;
    }
    return found;
  }

  /** The child that agrees with `tokens` for longest, and for how many; null when none shares the first. */
  closest(
    parent: PrefixNode,
    tokens: readonly number[],
  ): { readonly node: PrefixNode; readonly shared: number } | null {
    let best: PrefixNode | null = null;
    let bestShared = 0;
    for (const node of parent.children) {
      const shared = commonPrefix(node.tokens, tokens);
      // Among equals one that ends there is preferred: it can be taken over without a copy.
      const endsThere = shared > 0 && shared === node.tokens.length;
      if (shared > bestShared || (shared === bestShared && endsThere)) {
        [best, bestShared] = [node, shared];
      }
    }
    return best === null ? null : { node: best, shared: bestShared };
  }

  /** A new node, not idle; null when another text has the same hash, which then keeps its place. */
  insert(parent: PrefixNode, tokens: readonly number[], block: number): PrefixNode | null {
    const isFull = tokens.length === this.blockSize;
    const hash = this.hash(parent.hash, tokens);
    if (isFull && this.full.has(hash)) return null;
    const node = newNode(parent, tokens, block, hash);
    parent.children.add(node);
    if (isFull) this.full.set(hash, node);
    return node;
  }

  /** Removes a node without children. */
  remove(node: PrefixNode): void {
    node.parent?.children.delete(node);
    if (this.full.get(node.hash) === node) this.full.delete(node.hash);
    this.idle.delete(node);
  }

  /** Nobody holds the node from now on. */
  rest(node: PrefixNode): void {
    this.idle.add(node);
  }

  /** Somebody holds the node again. */
  wake(node: PrefixNode): void {
    this.idle.delete(node);
  }

  /** The idle node that was used least recently; it has no children, since those are older. */
  oldest(): PrefixNode | null {
    for (const node of this.idle) return node;
    return null;
  }

  /** Idle nodes, oldest first, for checks. */
  idleNodes(): Iterable<PrefixNode> {
    return this.idle;
  }

  /** All nodes but the root, parents first, for checks. */
  nodes(): PrefixNode[] {
    const nodes = [this.root];
    for (let i = 0; i < nodes.length; i++) nodes.push(...(nodes[i]?.children ?? []));
    return nodes.slice(1);
  }
}

function newNode(
  parent: PrefixNode | null,
  tokens: readonly number[],
  block: number,
  hash: number,
): PrefixNode {
  return { parent, children: new Set(), tokens, block, hash };
}

export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const n = Math.min(a.length, b.length);
  let i = 0;
  while (i < n && a[i] === b[i]) i++;
  return i;
}

/** The 32-bit words through the mixing and finalizing steps of MurmurHash3 (Appleby, public domain). */
function hashBlock(parent: number, tokens: readonly number[]): number {
  let h = parent;
  for (const token of tokens) {
    let k = Math.imul(token, 0xcc9e2d51);
    k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
    h ^= k;
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
