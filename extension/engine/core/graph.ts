import { EngineError } from '../errors';
import type { TensorPart } from '../loading/weights';
import type {
  Activation,
  Columns,
  HiddenSpec,
  Instruction,
  KvLayerSpec,
  NormSpec,
  Program,
  RopeSpec,
  RoutingSpec,
  StateLayerSpec,
  ValueId,
  ValueSpec,
  WeightId,
  WeightSpec,
} from './program';

/** One projection of all experts, as in the instruction moe_linear. */
export interface ExpertWeights {
  readonly weights: readonly WeightId[];
  readonly bias?: WeightId | null;
  readonly shared?: WeightId | null;
}

/** Builds the canonical form of a program, one method an op. Model files use it through `layers/`. */
export class GraphBuilder {
  private readonly values: ValueSpec[] = [];
  private readonly weights: WeightSpec[] = [];
  private readonly weightIds = new Map<string, WeightId>();
  private readonly kvLayers: KvLayerSpec[] = [];
  private readonly stateLayers: StateLayerSpec[] = [];
  private readonly instructions: Instruction[] = [];

  /** A weight [rows, cols]; asking twice for the same name and part gives the same id (tied embeddings). */
  matrix(name: string, rows: number, cols: number, part?: TensorPart): WeightId {
    return this.weight({ name, kind: 'matrix', rows, cols, ...(part && { part }) });
  }

  /** A weight [cols]. */
  vector(name: string, cols: number, part?: TensorPart): WeightId {
    return this.weight({ name, kind: 'vector', rows: 1, cols, ...(part && { part }) });
  }

  colsOf(x: ValueId): number {
    return this.spec(x).cols;
  }

  embed(weight: WeightId, scale = 1): ValueId {
    const out = this.value({ rows: 'T', cols: this.weightSpec(weight).cols });
    this.instructions.push({ op: 'embed', weight, scale, out });
    return out;
  }

  norm(
    x: ValueId,
    norm: NormSpec,
    groups = 1,
    gate?: Columns & { readonly activation: Activation },
  ): ValueId {
    const out = this.value(this.spec(x));
    this.instructions.push({ op: 'norm', x, norm, groups, ...(gate && { gate }), out });
    return out;
  }

  linear(x: ValueId, weight: WeightId, bias: WeightId | null = null): ValueId {
    return this.wideLinear(x, [weight], [bias]);
  }

  /** Several projections of x side by side in one value. */
  wideLinear(
    x: ValueId,
    weights: readonly WeightId[],
    biases: readonly (WeightId | null)[] = weights.map(() => null),
  ): ValueId {
    let width = 0;
    for (const weight of weights) {
      const { name, rows, cols } = this.weightSpec(weight);
      if (cols !== this.colsOf(x)) {
        throw new EngineError(
          'internal',
          `[linear] ${name}: got ${this.colsOf(x)} columns, expected ${cols}`,
        );
      }
      width += rows;
    }
    const out = this.value({ rows: this.spec(x).rows, cols: width });
    this.instructions.push({ op: 'linear', x, weights, biases, norm: null, residual: null, out });
    return out;
  }

  /** activation(gate) * up */
  gated(gate: ValueId, up: ValueId, activation: Activation): ValueId {
    const out = this.value(this.spec(gate));
    this.instructions.push({ op: 'activation', gate, up, activation, out });
    return out;
  }

  activation(x: ValueId, activation: Activation): ValueId {
    const out = this.value(this.spec(x));
    this.instructions.push({ op: 'activation', gate: x, up: null, activation, out });
    return out;
  }

  rope(x: ValueId, heads: number, headDim: number, rope: RopeSpec): ValueId {
    const out = this.value(this.spec(x));
    this.instructions.push({ op: 'rope', x, heads, headDim, rope, out });
    return out;
  }

  /** Writes k and v of a new KV layer; returns the layer's index for `attention`. */
  kvWrite(k: ValueId, v: ValueId, spec: KvLayerSpec, sharedKey?: ValueId): number {
    const layer = this.kvLayers.push(spec) - 1;
    const shared = sharedKey === undefined ? {} : { sharedKey };
    this.instructions.push({ op: 'kv_write', k, v, ...shared, layer });
    return layer;
  }

  attention(
    q: ValueId,
    layer: number,
    options: {
      heads: number;
      scale: number;
      window?: number | null;
      softcap?: number | null;
      sinks?: WeightId | null;
    },
  ): ValueId {
    const kv = this.kvLayers[layer];
    if (kv === undefined) throw new EngineError('internal', `[attention] no KV layer ${layer}`);
    const out = this.value({ rows: 'T', cols: options.heads * kv.valueDim });
    this.instructions.push({
      op: 'attention',
      q,
      layer,
      heads: options.heads,
      scale: options.scale,
      window: options.window ?? null,
      softcap: options.softcap ?? null,
      sinks: options.sinks ?? null,
      out,
    });
    return out;
  }

  /** The mixer of a new layer with recurrent state; x as in the instruction. */
  gatedDelta(
    x: ValueId,
    spec: StateLayerSpec,
    weights: { conv: WeightId; decay: WeightId; timeBias: WeightId },
  ): ValueId {
    const layer = this.stateLayers.push(spec) - 1;
    const out = this.value({ rows: 'T', cols: spec.valueHeads * spec.valueDim });
    this.instructions.push({ op: 'gated_delta', x, layer, ...weights, out });
    return out;
  }

  moeRoute(
    x: ValueId,
    routing: RoutingSpec,
    weights: {
      router: WeightId;
      bias?: WeightId | null;
      correction?: WeightId | null;
      sharedGate?: WeightId | null;
    },
  ): ValueId {
    const out = this.value({ rows: 'T', cols: 2 * routing.topK + 1 });
    this.instructions.push({
      op: 'moe_route',
      x,
      norm: null,
      router: weights.router,
      bias: weights.bias ?? null,
      correction: weights.correction ?? null,
      sharedGate: weights.sharedGate ?? null,
      routing,
      out,
    });
    return out;
  }

  moeLinear(
    mode: 'expand' | 'reduce',
    x: ValueId,
    route: ValueId,
    { experts, topK }: RoutingSpec,
    { weights, bias = null, shared = null }: ExpertWeights,
  ): ValueId {
    const rows = weights.reduce((sum, id) => sum + this.weightSpec(id).rows, 0) / experts;
    const sharedRows = shared === null ? 0 : this.weightSpec(shared).rows;
    const cols = mode === 'reduce' ? rows : topK * rows + sharedRows;
    const out = this.value({ rows: 'T', cols });
    const weighted = { experts, topK, weights, bias, shared, residual: null };
    this.instructions.push({ op: 'moe_linear', mode, x, route, ...weighted, out });
    return out;
  }

  add(a: ValueId, b: ValueId): ValueId {
    const out = this.value(this.spec(a));
    this.instructions.push({ op: 'add', a, b, out });
    return out;
  }

  scale(x: ValueId, factor: number, softcap: number | null = null): ValueId {
    const out = this.value(this.spec(x));
    this.instructions.push({ op: 'scale', x, factor, softcap, out });
    return out;
  }

  gatherRows(x: ValueId): ValueId {
    const out = this.value({ rows: 'R', cols: this.colsOf(x) });
    this.instructions.push({ op: 'gather_rows', x, out });
    return out;
  }

  finish(model: string, contextLength: number, logits: ValueId, hidden?: HiddenSpec): Program {
    return {
      model,
      vocabSize: this.colsOf(logits),
      contextLength,
      values: this.values,
      weights: this.weights,
      kvLayers: this.kvLayers,
      ...(this.stateLayers.length > 0 && { stateLayers: this.stateLayers }),
      instructions: this.instructions,
      logits,
      ...(hidden && { hidden }),
    };
  }

  private weight(spec: WeightSpec): WeightId {
    const key = spec.part === undefined ? spec.name : `${spec.name} ${JSON.stringify(spec.part)}`;
    const known = this.weightIds.get(key);
    if (known !== undefined) return known;
    const id = this.weights.push(spec) - 1;
    this.weightIds.set(key, id);
    return id;
  }

  private value(spec: ValueSpec): ValueId {
    return this.values.push({ rows: spec.rows, cols: spec.cols }) - 1;
  }

  private spec(id: ValueId): ValueSpec {
    const spec = this.values[id];
    if (spec === undefined) throw new EngineError('internal', `no value ${id}`);
    return spec;
  }

  private weightSpec(id: WeightId): WeightSpec {
    const spec = this.weights[id];
    if (spec === undefined) throw new EngineError('internal', `no weight ${id}`);
    return spec;
  }
}
