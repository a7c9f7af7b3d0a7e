import type { WeightId } from '../program';
import { isPlain, type Op, type ProgramEditor } from './editor';

/** activation(gate · x) * (up · x) becomes one glu, or one moe_glu, when gate and up read the same value. */
export function fuseGatedLinear(editor: ProgramEditor): void {
  for (const [index, activation] of editor.instructions.entries()) {
    if (activation?.op !== 'activation') continue;
    const fused =
      activation.up === null
        ? fuseActivation(editor, activation)
        : (fuseGlu(editor, activation, activation.up) ??
          fuseMoeGlu(editor, activation, activation.up));
    if (fused !== null) editor.replace(fused.indices, index, fused.instruction);
  }
}

/** An activation on its own becomes the linear's epilogue. */
function fuseActivation(editor: ProgramEditor, { gate, activation, out }: Op<'activation'>) {
  const linear = editor.soleProducer(gate, 'linear');
  if (linear === null || !isPlain(linear.at)) return null;
  return { indices: [linear.index], instruction: { ...linear.at, activation, out } };
}

function fuseGlu(editor: ProgramEditor, { gate, activation, out }: Op<'activation'>, up: number) {
  const gateLinear = editor.soleProducer(gate, 'linear');
  const upLinear = editor.soleProducer(up, 'linear');
  if (gateLinear === null || upLinear === null) return null;
  const { at: g, index } = gateLinear;
  const { at: u } = upLinear;
  if (!isPlain(g) || !isPlain(u) || g.x !== u.x) return null;
  const [gateWeight] = g.weights;
  const [upWeight] = u.weights;
  if (gateWeight === undefined || upWeight === undefined) return null;
  if (g.weights.length > 1 || u.weights.length > 1) return null;
  const instruction: Op<'glu'> = {
    op: 'glu',
    x: g.x,
    gate: gateWeight,
    up: upWeight,
    ...biasField('gateBias', g.biases[0]),
    ...biasField('upBias', u.biases[0]),
    activation,
    norm: null,
    out,
  };
  return { indices: [index, upLinear.index], instruction };
}

function biasField(name: 'gateBias' | 'upBias', bias: WeightId | null | undefined) {
  return bias === null || bias === undefined ? {} : { [name]: bias };
}

function fuseMoeGlu(
  editor: ProgramEditor,
  { gate, activation, out }: Op<'activation'>,
  up: number,
) {
  const gateLinear = editor.soleProducer(gate, 'moe_linear');
  const upLinear = editor.soleProducer(up, 'moe_linear');
  if (gateLinear === null || upLinear === null) return null;
  const { at: g, index } = gateLinear;
  const { at: u } = upLinear;
  const isPair = g.mode === 'expand' && u.mode === 'expand' && g.x === u.x && g.route === u.route;
  if (!isPair) return null;
  const instruction: Op<'moe_glu'> = {
    op: 'moe_glu',
    x: g.x,
    norm: null,
    route: g.route,
    experts: g.experts,
    topK: g.topK,
    gate: g.weights,
    up: u.weights,
    gateBias: g.bias,
    upBias: u.bias,
    sharedGate: g.shared,
    sharedUp: u.shared,
    activation,
    out,
  };
  return { indices: [index, upLinear.index], instruction };
}
