import type { KvLayerSpec } from '../../core/program';
import { sigmoid } from './activation';
import { normalizeInPlace } from './norm';
import { rotateRows } from './rope';
import {
  allocate,
  at,
  dot,
  read,
  readColumns,
  rowOf,
  weightOf,
  type Matrix,
  type OpOf,
  type StepContext,
} from './step';

export function kvWrite(context: StepContext, op: OpOf<'kv_write'>): void {
  const own = read(context, op.k);
  const k =
    op.sharedKey === undefined
      ? own
      : withSharedKey(context, op.layer, own, read(context, op.sharedKey));
  store(context, op.layer, k, read(context, op.v));
}

/** Every head's key columns followed by the shared ones. */
function withSharedKey(context: StepContext, layer: number, k: Matrix, shared: Matrix): Matrix {
  const { kvHeads, keyDim } = kvLayer(context, layer);
  const own = keyDim - shared.cols;
  const cols = kvHeads * keyDim;
  const out = { data: new Float32Array(k.rows * cols), rows: k.rows, cols };
  for (let row = 0; row < k.rows; row++) {
    for (let head = 0; head < kvHeads; head++) {
      const target = row * cols + head * keyDim;
      out.data.set(rowOf(k, row).subarray(head * own, (head + 1) * own), target);
      out.data.set(rowOf(shared, row), target + own);
    }
  }
  return out;
}

function store(context: StepContext, layer: number, k: Matrix, v: Matrix): void {
  const { batch, kv, sequenceOf } = context;
  for (let row = 0; row < k.rows; row++) {
    const slot = kv.row(batch, at(sequenceOf, row), at(batch.positions, row));
    kv.write(layer, slot, rowOf(k, row), rowOf(v, row));
  }
}

function kvLayer(context: StepContext, layer: number): KvLayerSpec {
  const spec = context.kv.layers[layer];
  if (spec === undefined) throw new RangeError(`no KV layer ${layer}`);
  return spec;
}

export function attentionPrepare(context: StepContext, op: OpOf<'attention_prepare'>): void {
  const q = allocate(context, op.out);
  const width = op.kvHeads * op.headDim;
  q.data.set(readColumns(context, { value: op.qkv, column: 0 }, q.cols).data);
  const k = readColumns(context, { value: op.qkv, column: q.cols }, width);
  const v = readColumns(context, { value: op.qkv, column: q.cols + width }, width);
  const groups = (heads: number) => (op.wholeRowNorm === true ? 1 : heads);
  if (op.qNorm !== null) normalizeInPlace(context, op.qNorm, q, groups(op.heads));
  if (op.kNorm !== null) normalizeInPlace(context, op.kNorm, k, groups(op.kvHeads));
  if (op.rope !== null) {
    rotateRows(context, q, op.headDim, op.rope);
    rotateRows(context, k, op.headDim, op.rope);
  }
  store(context, op.layer, k, v);
}

export function latentPrepare(context: StepContext, op: OpOf<'latent_prepare'>): void {
  const { keyDim, valueDim } = kvLayer(context, op.layer);
  const { start = 0 } = op.rope;
  const q = allocate(context, op.out);
  q.data.set(readColumns(context, op.q, q.cols).data);
  rotateRows(context, q, keyDim, op.rope);
  const shared = readColumns(context, op.sharedKey, keyDim - start);
  const rotated = { ...shared, data: shared.data.slice() };
  rotateRows(context, rotated, shared.cols, { ...op.rope, start: 0 });
  const k = readColumns(context, { value: op.kv, column: 0 }, op.heads * start);
  const v = readColumns(context, { value: op.kv, column: k.cols }, op.heads * valueDim);
  store(context, op.layer, withSharedKey(context, op.layer, k, rotated), v);
}

/** Causal grouped-query attention (Ainslie et al. 2023) with a max-shifted softmax in float64. */
export function attention(context: StepContext, op: OpOf<'attention'>): void {
  const { batch, kv, sequenceOf } = context;
  const { kvHeads, keyDim, valueDim } = kvLayer(context, op.layer);
  const keys = kv.keys[op.layer];
  const values = kv.values[op.layer];
  if (keys === undefined || values === undefined) throw new RangeError(`no KV layer ${op.layer}`);
  const q = read(context, op.q);
  const out = allocate(context, op.out);
  const sinks = op.sinks === null ? null : weightOf(context, op.sinks).data;
  for (let row = 0; row < q.rows; row++) {
    const position = at(batch.positions, row);
    const first = op.window === null ? 0 : Math.max(0, position - op.window + 1);
    const slots: number[] = [];
    for (let p = first; p <= position; p++) slots.push(kv.row(batch, at(sequenceOf, row), p));
    for (let head = 0; head < op.heads; head++) {
      const kvHead = Math.floor((head * kvHeads) / op.heads);
      const query = row * q.cols + head * keyDim;
      const scores = slots.map((slot) => {
        const key = (slot * kvHeads + kvHead) * keyDim;
        const score = dot(q.data, query, keys, key, keyDim) * op.scale;
        return op.softcap === null ? score : op.softcap * Math.tanh(score / op.softcap);
      });
      const sink = sinks === null ? -Infinity : at(sinks, head);
      const max = scores.reduce((a, b) => Math.max(a, b), sink);
      let total = Math.exp(sink - max);
      const mixed = new Float64Array(valueDim);
      for (const [j, score] of scores.entries()) {
        const p = Math.exp(score - max);
        total += p;
        const value = ((slots[j] ?? 0) * kvHeads + kvHead) * valueDim;
        for (let i = 0; i < valueDim; i++) mixed[i] = (mixed[i] ?? 0) + p * at(values, value + i);
      }
      const target = row * out.cols + head * valueDim;
      for (let i = 0; i < valueDim; i++) out.data[target + i] = (mixed[i] ?? 0) / total;
    }
  }
  if (op.gate !== undefined) {
    const gate = readColumns(context, op.gate, out.cols).data;
    for (let i = 0; i < gate.length; i++) out.data[i] = at(out.data, i) * sigmoid(at(gate, i));
  }
}
