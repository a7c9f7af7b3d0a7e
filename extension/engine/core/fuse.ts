import type { Program } from './program';
import { fuseAttentionPrepare } from './rewrite/attention';
import { ProgramEditor } from './rewrite/editor';
import { fuseFactor, fuseResidual } from './rewrite/epilogue';
import { fuseGatedLinear } from './rewrite/feed_forward';
import { fuseLatentPrepare } from './rewrite/latent_attention';
import { fuseJoin, fuseNormPrologue, fuseNormResidual } from './rewrite/norms';

/**
 * Rewrites a canonical program into fused instructions, so that a dense layer is six dispatches: norm+QKV,
 * qk-norm+rope+KV write, attention, O+residual, norm+gate/up+activation, down+residual. A mixture of experts has one
 * more, norm+router. The result computes the same numbers up to the order of summation; what does not match a pattern
 * stays as it is.
 */
export function fuse(program: Program): Program {
  const editor = new ProgramEditor(program);
  fuseAttentionPrepare(editor);
  fuseLatentPrepare(editor);
  fuseGatedLinear(editor);
  fuseFactor(editor);
  fuseNormResidual(editor);
  fuseNormPrologue(editor);
  fuseJoin(editor);
  fuseResidual(editor);
  return editor.finish();
}
