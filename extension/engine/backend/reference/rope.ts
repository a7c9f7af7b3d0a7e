import type { RopeSpec } from '../../core/program';
import { allocate, at, read, type Matrix, type OpOf, type StepContext } from './step';

export function rope(context: StepContext, op: OpOf<'rope'>): void {
  const x = read(context, op.x);
  const out = allocate(context, op.out);
  out.data.set(x.data);
  rotateRows(context, out, op.headDim, op.rope);
}

/** Rotates every head of every row in place, by the row's position. */
export function rotateRows(context: StepContext, x: Matrix, headDim: number, spec: RopeSpec): void {
  for (let start = 0; start < x.data.length; start += headDim) {
    const position = at(context.batch.positions, Math.floor(start / x.cols));
    rotate(x.data.subarray(start, start + headDim), position, spec);
  }
}

/** Rotary position embedding of one head in place (Su et al. 2021). */
function rotate(head: Float32Array, position: number, spec: RopeSpec): void {
  const pairs = spec.inverseFrequencies.length;
  const start = spec.start ?? 0;
  for (const [i, frequency] of spec.inverseFrequencies.entries()) {
    const a = start + (spec.layout === 'half' ? i : 2 * i);
    const b = start + (spec.layout === 'half' ? i + pairs : 2 * i + 1);
    const cos = Math.cos(position * frequency) * spec.scale;
    const sin = Math.sin(position * frequency) * spec.scale;
    const x = at(head, a);
    const y = at(head, b);
    head[a] = x * cos - y * sin;
    head[b] = y * cos + x * sin;
  }
}
