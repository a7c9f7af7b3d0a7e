import type { Instruction } from '../program';
import type { Op, ProgramEditor } from './editor';

/** Reading a normed value again costs little; from here on one norm of its own is cheaper. */
const MAX_COPIES = 2;

type Reader = Op<'linear'> | Op<'glu'> | Op<'moe_route'> | Op<'moe_glu'>;

function takesPrologue(i: Instruction | null | undefined): i is Reader {
  switch (i?.op) {
    case 'linear':
    case 'glu':
    case 'moe_route':
    case 'moe_glu':
      return i.norm === null;
    default:
      return false;
  }
}

/** A whole-row norm that only matrix products read becomes their prologue. */
export function fuseNormPrologue(editor: ProgramEditor): void {
  for (const [index, norm] of editor.instructions.entries()) {
    if (norm?.op !== 'norm' || norm.groups !== 1) continue;
    if (norm.gate !== undefined || norm.residual !== undefined) continue;
    const readers = editor.readers(norm.out);
    const all = readers.map((n) => editor.instructions[n]).filter(takesPrologue);
    if (all.length !== editor.uses(norm.out) || all.length > MAX_COPIES) continue;
    editor.set(index, null);
    for (const [n, reader] of all.entries()) {
      editor.set(readers[n] ?? 0, { ...reader, x: norm.x, norm: norm.norm });
    }
  }
}

/** residual + norm(x), the end of a layer's part in some families, becomes one norm. */
export function fuseNormResidual(editor: ProgramEditor): void {
  for (const [index, add] of editor.instructions.entries()) {
    if (add?.op !== 'add') continue;
    const norm = editor.soleProducer(add.b, 'norm');
    if (norm?.at.groups !== 1 || norm.at.gate !== undefined) continue;
    editor.replace([norm.index], index, { ...norm.at, residual: add.a, out: add.out });
  }
}

/** That norm becomes the prologue of the matrix product that is the first to read its result. */
export function fuseJoin(editor: ProgramEditor): void {
  for (const [index, norm] of editor.instructions.entries()) {
    if (norm?.op !== 'norm' || norm.residual === undefined) continue;
    const [first] = editor.readers(norm.out);
    const reader = first === undefined ? null : editor.instructions[first];
    if (first === undefined || (reader?.op !== 'linear' && reader?.op !== 'glu')) continue;
    if (reader.x !== norm.out || reader.join !== undefined) continue;
    const join = { residual: norm.residual, norm: norm.norm, sum: norm.out };
    editor.replace([index], first, { ...reader, x: norm.x, join });
  }
}
