import type { ProgramEditor } from './editor';

/** A constant multiple of a linear's result becomes its factor. */
export function fuseFactor(editor: ProgramEditor): void {
  for (const [index, scale] of editor.instructions.entries()) {
    if (scale?.op !== 'scale' || scale.softcap !== null) continue;
    const linear = editor.soleProducer(scale.x, 'linear');
    if (linear === null || linear.at.residual !== null || linear.at.activation !== undefined)
      continue;
    const factor = (linear.at.factor ?? 1) * scale.factor;
    editor.replace([linear.index], index, { ...linear.at, factor, out: scale.out });
  }
}

/** residual + linear(x) becomes the linear's epilogue; the linear moves to the place of the add. */
export function fuseResidual(editor: ProgramEditor): void {
  for (const [index, add] of editor.instructions.entries()) {
    if (add?.op !== 'add') continue;
    for (const [term, residual] of [
      [add.b, add.a],
      [add.a, add.b],
    ] as const) {
      const linear = editor.soleProducer(term, 'linear') ?? editor.soleProducer(term, 'moe_linear');
      if (linear === null || linear.at.residual !== null) continue;
      if (linear.at.op === 'moe_linear' && linear.at.mode === 'expand') continue;
      editor.replace([linear.index], index, { ...linear.at, residual, out: add.out });
      break;
    }
  }
}
