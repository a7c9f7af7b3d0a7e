import type { GraphBuilder } from '../graph';
import type { NormSpec, ValueId } from '../program';

/** Final norm and vocabulary projection of the wanted rows: [T, hidden] → logits [R, vocab]. */
export function languageModelHead(
  g: GraphBuilder,
  x: ValueId,
  spec: { vocab: number; norm: NormSpec; tied: boolean; embedding: string; head: string },
): ValueId {
  const rows = g.norm(g.gatherRows(x), spec.norm);
  return g.linear(rows, g.matrix(spec.tied ? spec.embedding : spec.head, spec.vocab, g.colsOf(x)));
}
