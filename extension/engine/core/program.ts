import type { TensorPart } from '../loading/weights';

/**
 * A program is a model as a static list of instructions over symbolic row counts. `core/models/` writes the canonical
 * form, `core/fuse.ts` rewrites it, a backend compiles it once and then runs it once per step. Plain data: it crosses
 * Node-API as it is and is validated again in C++.
 */

/** Symbolic row count of a value: T tokens of this step, or R rows whose logits are wanted. */
export type Rows = 'T' | 'R';
export type ValueId = number;
export type WeightId = number;

/** An activation: float32 [rows, cols], row-major. Every value is written by exactly one instruction. */
export interface ValueSpec {
  readonly rows: Rows;
  readonly cols: number;
}

/** A run of columns of a value, from `column` on; how many follows from the reader. */
export interface Columns {
  readonly value: ValueId;
  readonly column: number;
}

/**
 * A checkpoint tensor that the program reads. Matrices are [rows, cols] = [out features, in features]; a vector has
 * rows = 1. Its storage format comes from the weight store.
 */
export interface WeightSpec {
  readonly name: string;
  readonly kind: 'matrix' | 'vector';
  readonly rows: number;
  readonly cols: number;
  /** Set when the weight is a part of the tensor `name`; pass it on to the weight store. */
  readonly part?: TensorPart;
}

/** Normalisation of rows, or of each of `groups` equal parts of a row: y = norm(x) * (weight + offset) + bias. */
export interface NormSpec {
  readonly kind: 'rms' | 'layer';
  readonly weight: WeightId | null;
  readonly bias: WeightId | null;
  readonly eps: number;
  /** Added to the weight; 1 for the Gemma families. */
  readonly offset: number;
}

/**
 * Rotary embedding. Pair i of a head turns by angle position * inverseFrequencies[i]; the rotated part of a head is
 * 2 * inverseFrequencies.length columns from column `start` on. cos and sin are multiplied by `scale` (yarn's attention
 * factor).
 */
export interface RopeSpec {
  readonly inverseFrequencies: readonly number[];
  readonly scale: number;
  /** 'half' pairs column i with i + n, 'interleaved' pairs 2i with 2i + 1. */
  readonly layout: 'half' | 'interleaved';
  /** Default 0. */
  readonly start?: number;
  /** What stands in place of `inverseFrequencies` where a context is longer than so many tokens; see rope.ts. */
  readonly beyond?: { readonly context: number; readonly inverseFrequencies: readonly number[] };
}

/**
 * 'swiglu_oai' needs a gate g and an up u: min(g, 7) * sigmoid(1.702 * min(g, 7)) * (clamp(u, -7, 7) + 1), from the
 * gpt-oss model card, https://arxiv.org/abs/2508.10925. For all others the result is activation(g) * u.
 */
export type Activation = 'silu' | 'gelu' | 'gelu_tanh' | 'relu' | 'sigmoid' | 'swiglu_oai';

/**
 * Fused only: x is first joined to the residual stream. sum = residual + norm(x) is written as a value of its own and
 * takes the place of x. For models that norm what a layer adds (Gemma 2, OLMo 2, GLM-4).
 */
export interface JoinSpec {
  readonly residual: ValueId;
  readonly norm: NormSpec;
  readonly sum: ValueId;
}

/** How a router chooses experts. */
export interface RoutingSpec {
  readonly experts: number;
  /** Experts a row. */
  readonly topK: number;
  /** 'softmax' over all experts; 'softmax_of_chosen' over the k largest logits; 'sigmoid' of each logit. */
  readonly scores: 'softmax' | 'softmax_of_chosen' | 'sigmoid';
  /**
   * Group-limited choice (DeepSeek-V2, https://arxiv.org/abs/2405.04434): experts form `count` equal groups; only those of
   * the `kept` best groups can be chosen. A group ranks by its best score, or by the sum of its two best.
   */
  readonly groups: {
    readonly count: number;
    readonly kept: number;
    readonly rank: 'max' | 'top2_sum';
  } | null;
  /** Divides the chosen weights by their sum. */
  readonly normalize: boolean;
  /** Multiplies the weights, last. */
  readonly factor: number;
}

/** Keys and values of one attention layer in the block pool. */
export interface KvLayerSpec {
  readonly kvHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
}

/**
 * Recurrent state of one Gated DeltaNet layer. A state slot holds, for each such layer, the last taps - 1 inputs of the
 * convolution [taps - 1, 2 * keyHeads * keyDim + valueHeads * valueDim] and a matrix [keyDim, valueDim] for each value
 * head, float32. It stands for all tokens seen so far: it cannot be cut back to an earlier position, only copied whole.
 */
export interface StateLayerSpec {
  readonly keyHeads: number;
  /** A multiple of keyHeads; value head h reads key head floor(h * keyHeads / valueHeads), or h % keyHeads when tiled. */
  readonly valueHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly taps: number;
  readonly tiled?: boolean;
}

export type Instruction =
  /** out[t] = weight[token[t]] * scale */
  | {
      readonly op: 'embed';
      readonly weight: WeightId;
      readonly scale: number;
      readonly out: ValueId;
    }
  /** Normalises each of `groups` equal column groups of x: out = norm(x) (* activation(gate)) (+ residual). */
  | {
      readonly op: 'norm';
      readonly x: ValueId;
      readonly norm: NormSpec;
      readonly groups: number;
      /** As many columns as x has. */
      readonly gate?: Columns & { readonly activation: Activation };
      /** Fused only. */
      readonly residual?: ValueId;
      readonly out: ValueId;
    }
  /**
   * out = activation(factor * concat_i(pre(x) · weights[i]ᵀ + biases[i])) (+ residual), pre = join, then norm, each if
   * given. biases is parallel to weights. Canonical form: no norm, no residual, none of the optional fields.
   */
  | {
      readonly op: 'linear';
      readonly x: ValueId;
      readonly weights: readonly WeightId[];
      readonly biases: readonly (WeightId | null)[];
      readonly norm: NormSpec | null;
      readonly residual: ValueId | null;
      readonly join?: JoinSpec;
      /** First column of x that is read; as many are as the weights have columns. Default 0. */
      readonly column?: number;
      /** Default 1. */
      readonly factor?: number;
      readonly activation?: Activation;
      readonly out: ValueId;
    }
  /** Fused only: out = activation(pre(x) · gateᵀ + gateBias) * (pre(x) · upᵀ + upBias); pre as in linear. */
  | {
      readonly op: 'glu';
      readonly x: ValueId;
      readonly gate: WeightId;
      readonly up: WeightId;
      readonly gateBias?: WeightId;
      readonly upBias?: WeightId;
      readonly activation: Activation;
      readonly norm: NormSpec | null;
      readonly join?: JoinSpec;
      readonly out: ValueId;
    }
  /** out = activation(gate) * up; up null: out = activation(gate), which 'swiglu_oai' does not have. */
  | {
      readonly op: 'activation';
      readonly gate: ValueId;
      readonly up: ValueId | null;
      readonly activation: Activation;
      readonly out: ValueId;
    }
  /** Rotates every head of x: [rows, heads * headDim]. */
  | {
      readonly op: 'rope';
      readonly x: ValueId;
      readonly heads: number;
      readonly headDim: number;
      readonly rope: RopeSpec;
      readonly out: ValueId;
    }
  /**
   * Appends keys [T, kvHeads * keyDim] and values [T, kvHeads * valueDim] to the KV blocks of their sequences. With
   * sharedKey [T, n], k is [T, kvHeads * (keyDim - n)] and every head's key ends in the same n columns.
   */
  | {
      readonly op: 'kv_write';
      readonly k: ValueId;
      readonly v: ValueId;
      readonly sharedKey?: ValueId;
      readonly layer: number;
    }
  /**
   * Fused only: from the first (heads + 2 kvHeads) * headDim columns of qkv takes q, k, v; norms q and k per head, or
   * each over all its heads with `wholeRowNorm`; rotates both; writes k and v to the cache and q to out
   * [T, heads * headDim].
   */
  | {
      readonly op: 'attention_prepare';
      readonly qkv: ValueId;
      readonly layer: number;
      readonly heads: number;
      readonly kvHeads: number;
      readonly headDim: number;
      readonly qNorm: NormSpec | null;
      readonly kNorm: NormSpec | null;
      readonly wholeRowNorm?: true;
      readonly rope: RopeSpec | null;
      readonly out: ValueId;
    }
  /**
   * Fused only, multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434): kv [T, heads * keyDim - heads * n
   * + heads * valueDim] holds every head's unrotated key columns, then every head's values; sharedKey the n columns
   * that end every key. Rotates those and the end of every query head as `rope` says, writes keys and values to the
   * cache and q to out [T, heads * keyDim].
   */
  | {
      readonly op: 'latent_prepare';
      readonly q: Columns;
      readonly kv: ValueId;
      readonly sharedKey: Columns;
      readonly layer: number;
      readonly heads: number;
      /** Of a query head: rope.start + n = keyDim. */
      readonly rope: RopeSpec;
      readonly out: ValueId;
    }
  /** Causal attention of q [T, heads * keyDim] over the cache; out [T, heads * valueDim]. Runs after its layer's write. */
  | {
      readonly op: 'attention';
      readonly q: ValueId;
      readonly layer: number;
      readonly heads: number;
      readonly scale: number;
      /** Number of latest positions seen, the row's own included; null = all. */
      readonly window: number | null;
      /** scores = softcap * tanh(scores / softcap) */
      readonly softcap: number | null;
      /** One learned logit a head that joins the softmax and has no value. */
      readonly sinks: WeightId | null;
      /** Fused only: [T, heads * valueDim]; out = attention * sigmoid(gate). */
      readonly gate?: Columns;
      readonly out: ValueId;
    }
  /**
   * Gated DeltaNet (https://arxiv.org/abs/2412.06464) between its projections. With C = 2 * keyHeads * keyDim + valueHeads *
   * valueDim, x begins with the columns q k v [C], b [valueHeads], a [valueHeads]. A row of token t:
   *   (q, k, v) = silu(Σ_j conv[c, j] * qkv[t - taps + 1 + j, c]), inputs before the sequence are 0;
   *   q = q / sqrt(|q|² + 1e-6) / sqrt(keyDim), k = k / sqrt(|k|² + 1e-6), for each head;
   *   S = exp(-exp(decay) * softplus(a + timeBias)) * S; S = S + k ⊗ (sigmoid(b) * (v - kᵀS)); out = qᵀS, for each value
   *   head.
   * A sequence's state lies in its state slot; a row at position 0 starts from zeros.
   */
  | {
      readonly op: 'gated_delta';
      readonly x: ValueId;
      readonly layer: number;
      /** Vector [C * taps], taps of one channel together, oldest first. */
      readonly conv: WeightId;
      /** Vectors [valueHeads]. */
      readonly decay: WeightId;
      readonly timeBias: WeightId;
      /** [T, valueHeads * valueDim] */
      readonly out: ValueId;
    }
  /**
   * Chooses experts: logits = pre(x) · routerᵀ + bias. out [T, 2 topK + 1]: the chosen experts as whole numbers, best
   * first and the lower number first among equals; their weights; the weight of the shared expert,
   * sigmoid(pre(x) · sharedGateᵀ), or 1 without a gate.
   */
  | {
      readonly op: 'moe_route';
      readonly x: ValueId;
      readonly norm: NormSpec | null;
      /** [experts, cols of x] */
      readonly router: WeightId;
      readonly bias: WeightId | null;
      /** Vector [experts], added to the scores for the choice and not for the weights. */
      readonly correction: WeightId | null;
      /** [1, cols of x] */
      readonly sharedGate: WeightId | null;
      readonly routing: RoutingSpec;
      readonly out: ValueId;
    }
  /**
   * Rows through the experts of their route. The rows of `weights`, one after the other, are those of all experts:
   * [experts * rows, cols]; bias is a vector [experts * rows]. The shared expert, if any, has the slot after the chosen
   * ones.
   * 'expand': x [T, cols] goes to every slot; out [T, topK * rows + rows of shared] holds the slots side by side.
   * 'reduce': x [T, topK * cols + cols of shared] holds the slots; out [T, rows] is the sum of the slots' results (bias
   * included), each times its weight in the route, (+ residual).
   */
  | {
      readonly op: 'moe_linear';
      readonly mode: 'expand' | 'reduce';
      readonly x: ValueId;
      readonly route: ValueId;
      readonly experts: number;
      readonly topK: number;
      readonly weights: readonly WeightId[];
      readonly bias: WeightId | null;
      readonly shared: WeightId | null;
      /** Fused only, 'reduce' only. */
      readonly residual: ValueId | null;
      readonly out: ValueId;
    }
  /**
   * Fused only: two expanding moe_linear and the activation, slot by slot:
   * out = activation(pre(x) · gateᵀ + gateBias) * (pre(x) · upᵀ + upBias), [T, topK * rows + rows of sharedGate].
   */
  | {
      readonly op: 'moe_glu';
      readonly x: ValueId;
      readonly norm: NormSpec | null;
      readonly route: ValueId;
      readonly experts: number;
      readonly topK: number;
      readonly gate: readonly WeightId[];
      readonly up: readonly WeightId[];
      readonly gateBias: WeightId | null;
      readonly upBias: WeightId | null;
      readonly sharedGate: WeightId | null;
      readonly sharedUp: WeightId | null;
      readonly activation: Activation;
      readonly out: ValueId;
    }
  | { readonly op: 'add'; readonly a: ValueId; readonly b: ValueId; readonly out: ValueId }
  /** out = softcap ? softcap * tanh(x * factor / softcap) : x * factor */
  | {
      readonly op: 'scale';
      readonly x: ValueId;
      readonly factor: number;
      readonly softcap: number | null;
      readonly out: ValueId;
    }
  /** Picks the R rows whose logits are wanted: [T, cols] → [R, cols]. */
  | { readonly op: 'gather_rows'; readonly x: ValueId; readonly out: ValueId };

export type OpName = Instruction['op'];

/** What the model makes of each token of a step: value [T, hidden] before the last norm, and that norm. */
export interface HiddenSpec {
  readonly value: ValueId;
  readonly norm: NormSpec;
}

export interface Program {
  /** config.json's model_type. */
  readonly model: string;
  readonly vocabSize: number;
  /** Longest sequence the model was made for, in tokens. */
  readonly contextLength: number;
  readonly values: readonly ValueSpec[];
  readonly weights: readonly WeightSpec[];
  readonly kvLayers: readonly KvLayerSpec[];
  /** Layers with recurrent state; absent when there are none. */
  readonly stateLayers?: readonly StateLayerSpec[];
  readonly instructions: readonly Instruction[];
  /** [R, vocabSize] */
  readonly logits: ValueId;
  /** Can be read after a step too; absent: nothing but the logits can. */
  readonly hidden?: HiddenSpec;
}
