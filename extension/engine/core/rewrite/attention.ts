import type { NormSpec, RopeSpec, ValueId } from '../program';
import { isPlain, sideBySide, type Op, type PlainLinear, type ProgramEditor } from './editor';

/** One projection followed by an optional norm and an optional rotation, walked from its last value. */
interface Branch {
  readonly indices: readonly number[];
  readonly linear: PlainLinear;
  readonly norm: NormSpec | null;
  /** The norm covers the whole row, not each head. */
  readonly isWholeRow: boolean;
  readonly rope: RopeSpec | null;
}

function branch(editor: ProgramEditor, value: ValueId, heads: number): Branch | null {
  const indices: number[] = [];
  let id = value;
  const rope = editor.soleProducer(id, 'rope');
  if (rope !== null) {
    indices.push(rope.index);
    id = rope.at.x;
  }
  const norm = editor.soleProducer(id, 'norm');
  if (norm !== null) {
    if ((norm.at.groups !== heads && norm.at.groups !== 1) || norm.at.gate !== undefined)
      return null;
    indices.push(norm.index);
    id = norm.at.x;
  }
  const linear = editor.soleProducer(id, 'linear');
  if (linear === null || !isPlain(linear.at)) return null;
  indices.push(linear.index);
  return {
    indices,
    linear: linear.at,
    norm: norm?.at.norm ?? null,
    isWholeRow: norm !== null && norm.at.groups !== heads,
    rope: rope?.at.rope ?? null,
  };
}

/**
 * q, k, v projections of one input, head norms, rotation and KV write become linear + attention_prepare. A sigmoid gate
 * on attention's result, projected from the same input, joins the linear and the attention.
 */
export function fuseAttentionPrepare(editor: ProgramEditor): void {
  for (const [index, write] of editor.instructions.entries()) {
    if (write?.op !== 'kv_write' || write.sharedKey !== undefined) continue;
    const attentionIndex = editor.instructions.findIndex(
      (i) => i?.op === 'attention' && i.layer === write.layer,
    );
    const attention = editor.instructions[attentionIndex];
    const kv = editor.kvLayer(write.layer);
    if (attention?.op !== 'attention' || kv === undefined || kv.keyDim !== kv.valueDim) continue;
    const q = branch(editor, attention.q, attention.heads);
    const k = branch(editor, write.k, kv.kvHeads);
    const v = branch(editor, write.v, kv.kvHeads);
    if (q === null || k === null || v === null || v.norm !== null || v.rope !== null) continue;
    const { x } = q.linear;
    if (x !== k.linear.x || x !== v.linear.x || q.rope !== k.rope) continue;
    const isOneHead = attention.heads === 1 && kv.kvHeads === 1;
    if (q.isWholeRow !== k.isWholeRow && !isOneHead) continue;

    const gate = outputGate(editor, attention, x);
    const projections = [q.linear, k.linear, v.linear];
    const gateColumn = projections.reduce((sum, p) => sum + editor.cols(p.out), 0);
    if (gate !== null) projections.push(gate.linear);
    const cols = projections.reduce((sum, p) => sum + editor.cols(p.out), 0);
    const qkv = editor.newValue({ rows: 'T', cols });
    const branches = [q, k, v].flatMap((b) => b.indices);
    editor.replace(branches, Math.min(...branches), sideBySide(projections, x, qkv));
    editor.set(index, {
      op: 'attention_prepare',
      qkv,
      layer: write.layer,
      heads: attention.heads,
      kvHeads: kv.kvHeads,
      headDim: kv.keyDim,
      qNorm: q.norm,
      kNorm: k.norm,
      ...(q.isWholeRow && { wholeRowNorm: true }),
      rope: q.rope,
      out: attention.q,
    });
    if (gate !== null) {
      editor.replace([attentionIndex, ...gate.indices], gate.last, {
        ...attention,
        gate: { value: qkv, column: gateColumn },
        out: gate.out,
      });
    }
  }
}

/** The activation sigmoid(linear(x)) * attention, if that is all that reads the attention. */
function outputGate(editor: ProgramEditor, attention: Op<'attention'>, x: ValueId) {
  const [last, ...others] = editor.readers(attention.out);
  const reader = last === undefined ? null : editor.instructions[last];
  if (last === undefined || others.length > 0 || reader?.op !== 'activation') return null;
  if (reader.activation !== 'sigmoid' || reader.up !== attention.out) return null;
  const linear = editor.soleProducer(reader.gate, 'linear');
  if (linear === null || !isPlain(linear.at) || linear.at.x !== x) return null;
  return { linear: linear.at, indices: [linear.index, last], last, out: reader.out };
}
