import { allocate, at, read, weightOf, type OpOf, type StepContext } from './step';

export function embed(context: StepContext, op: OpOf<'embed'>): void {
  const table = weightOf(context, op.weight);
  const out = allocate(context, op.out);
  for (const [row, token] of context.batch.tokens.entries()) {
    for (let i = 0; i < table.cols; i++) {
      out.data[row * table.cols + i] = at(table.data, token * table.cols + i) * op.scale;
    }
  }
}

export function add(context: StepContext, op: OpOf<'add'>): void {
  const a = read(context, op.a).data;
  const b = read(context, op.b).data;
  const out = allocate(context, op.out).data;
  for (let i = 0; i < out.length; i++) out[i] = at(a, i) + at(b, i);
}

export function scale(context: StepContext, op: OpOf<'scale'>): void {
  const x = read(context, op.x).data;
  const out = allocate(context, op.out).data;
  for (let i = 0; i < out.length; i++) {
    const scaled = at(x, i) * op.factor;
    out[i] = op.softcap === null ? scaled : op.softcap * Math.tanh(scaled / op.softcap);
  }
}

export function gatherRows(context: StepContext, op: OpOf<'gather_rows'>): void {
  const x = read(context, op.x);
  const out = allocate(context, op.out);
  for (const [r, row] of context.batch.logitRows.entries()) {
    out.data.set(x.data.subarray(row * x.cols, (row + 1) * x.cols), r * x.cols);
  }
}
