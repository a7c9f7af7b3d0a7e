import { EngineError } from '../errors';
import type { BlockPool } from './blocks';
import type { BlockTable } from './block_table';
import type { PrefixNode, PrefixTree } from './prefix';

/** Throws 'internal' with the block and the numbers when the books of a paged cache do not balance. */
export function assertIntegrity(
  pool: BlockPool,
  tree: PrefixTree,
  tables: readonly BlockTable[],
  blockSize: number,
): void {
  const nodes = tree.nodes();
  const idle = new Set(tree.idleNodes());
  const owner = new Map<number, string>();
  const own = (block: number, as: string) => {
    const before = owner.get(block);
    if (before !== undefined) fail(`block ${block} is both ${before} and ${as}`);
    owner.set(block, as);
  };

  for (const block of pool.freeBlocks()) own(block, 'free');
  for (const node of idle) own(node.block, 'idle');
  const holders = countHolders(tables);
  for (const block of holders.keys()) own(block, 'held');
  if (owner.size !== pool.total)
    fail(`${owner.size} of ${pool.total} blocks are free, idle or held`);
  for (let block = 0; block < pool.total; block++) {
    const expected = holders.get(block) ?? 0;
    if (pool.refCount(block) !== expected) {
      fail(`block ${block} counts ${pool.refCount(block)} holders, ${expected} sequences hold it`);
    }
  }
  if (new Set(nodes.map((node) => node.block)).size !== nodes.length)
    fail('two nodes share a block');
  for (const node of nodes) {
    if (idle.has(node) !== (pool.refCount(node.block) === 0))
      fail(`node of block ${node.block} is idle and held`);
    if (node.tokens.length > blockSize)
      fail(`block ${node.block} has ${node.tokens.length} tokens`);
    if (node.tokens.length < blockSize && node.children.size > 0)
      fail(`partial block ${node.block} has children`);
  }
  checkOrder(idle, new Set(nodes));
  for (const table of tables) checkTable(table, tree.root, blockSize);
}

function countHolders(tables: readonly BlockTable[]): Map<number, number> {
  const holders = new Map<number, number>();
  for (const block of tables.flatMap((table) => table.blocks)) {
    holders.set(block, (holders.get(block) ?? 0) + 1);
  }
  return holders;
}

/** Eviction takes the first idle node, so children come before their parents. */
function checkOrder(idle: ReadonlySet<PrefixNode>, nodes: ReadonlySet<PrefixNode>): void {
  const seen = new Set<PrefixNode>();
  for (const node of idle) {
    if (!nodes.has(node)) fail(`idle block ${node.block} is not in the tree`);
    for (const child of node.children) {
      if (!seen.has(child))
        fail(`block ${node.block} would be evicted before its continuation ${child.block}`);
    }
    seen.add(node);
  }
}

function checkTable(
  { blocks, path, length }: BlockTable,
  root: PrefixNode,
  blockSize: number,
): void {
  if (length > blocks.length * blockSize)
    fail(`${blocks.length} blocks cannot hold ${length} tokens`);
  if (path.length * blockSize > length)
    fail(`${path.length} shared blocks hold more than ${length} tokens`);
  for (const [i, node] of path.entries()) {
    if (node.block !== blocks[i])
      fail(`entry ${i} is block ${blocks[i]}, the tree has ${node.block}`);
    if (node.parent !== (i === 0 ? root : path[i - 1]))
      fail(`entry ${i} does not follow its parent`);
  }
}

function fail(message: string): never {
  throw new EngineError('internal', `[paged cache] ${message}`);
}
