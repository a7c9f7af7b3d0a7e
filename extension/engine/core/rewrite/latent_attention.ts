import type { NormSpec, ValueId } from '../program';
import { isPlain, sideBySide, type PlainLinear, type ProgramEditor } from './editor';

/**
 * Multi-head latent attention: all projections of the layer's input become one linear, the expansion of keys and values
 * from the normed latent another, rotation and KV write one latent_prepare. Queries may have a latent of their own.
 */
export function fuseLatentPrepare(editor: ProgramEditor): void {
  for (const [index, write] of editor.instructions.entries()) {
    if (write?.op !== 'kv_write' || write.sharedKey === undefined) continue;
    const attention = editor.instructions.find(
      (i) => i?.op === 'attention' && i.layer === write.layer,
    );
    if (attention?.op !== 'attention') continue;
    const qRope = editor.soleProducer(attention.q, 'rope');
    const keyRope = editor.soleProducer(write.sharedKey, 'rope');
    const k = plainLinear(editor, write.k);
    const v = plainLinear(editor, write.v);
    if (qRope === null || keyRope === null || k === null || v === null) continue;
    const q = plainLinear(editor, qRope.at.x);
    const sharedKey = plainLinear(editor, keyRope.at.x);
    const latent = latentOf(editor, k.at.x, 2);
    if (q === null || sharedKey === null || latent === null || v.at.x !== k.at.x) continue;
    const qLatent = latentOf(editor, q.at.x, 1);
    const first = qLatent?.linear ?? q;
    const { x } = first.at;
    if (latent.linear.at.x !== x || sharedKey.at.x !== x) continue;

    const inputs = [first, latent.linear, sharedKey];
    const widths = inputs.map((i) => editor.cols(i.at.out));
    const [queryWidth = 0, latentWidth = 0] = widths;
    const wide = editor.newValue({ rows: 'T', cols: widths.reduce((a, b) => a + b) });
    const kv = editor.newValue({ rows: 'T', cols: editor.cols(write.k) + editor.cols(write.v) });
    const removed = [...inputs, k, v, keyRope, qRope, latent].map((i) => i.index);
    const at = Math.min(...inputs.map((i) => i.index));
    editor.replace(
      removed,
      at,
      sideBySide(
        inputs.map((i) => i.at),
        x,
        wide,
      ),
    );
    editor.set(v.index, {
      ...sideBySide([k.at, v.at], wide, kv),
      column: queryWidth,
      norm: latent.norm,
    });
    if (qLatent !== null) {
      editor.set(qLatent.index, null);
      editor.set(q.index, { ...q.at, x: wide, column: 0, norm: qLatent.norm });
    }
    editor.set(index, {
      op: 'latent_prepare',
      q: { value: qLatent === null ? wide : q.at.out, column: 0 },
      kv,
      sharedKey: { value: wide, column: queryWidth + latentWidth },
      layer: write.layer,
      heads: attention.heads,
      rope: qRope.at.rope,
      out: attention.q,
    });
  }
}

interface Found {
  readonly index: number;
  readonly at: PlainLinear;
}

function plainLinear(editor: ProgramEditor, id: ValueId): Found | null {
  const linear = editor.soleProducer(id, 'linear');
  return linear !== null && isPlain(linear.at) ? { index: linear.index, at: linear.at } : null;
}

/** The whole-row norm of a plain linear that wrote `id`, which is read `uses` times. */
function latentOf(
  editor: ProgramEditor,
  id: ValueId,
  uses: number,
): { index: number; norm: NormSpec; linear: Found } | null {
  const producer = editor.producer(id, 'norm');
  if (producer?.at.groups !== 1 || editor.uses(id) !== uses) return null;
  const { index, at: norm } = producer;
  const linear = plainLinear(editor, norm.x);
  return linear === null ? null : { index, norm: norm.norm, linear };
}
