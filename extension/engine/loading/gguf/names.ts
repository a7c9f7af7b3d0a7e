/**
 * GGUF's names of a layer's tensors and the Hugging Face names that the model families ask for; without `.weight`.
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md#standardized-tensor-names
 */
const LAYER: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_qkv: 'self_attn.qkv_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  attn_q_a: 'self_attn.q_a_proj',
  attn_q_a_norm: 'self_attn.q_a_layernorm',
  attn_q_b: 'self_attn.q_b_proj',
  attn_kv_a_mqa: 'self_attn.kv_a_proj_with_mqa',
  attn_kv_a_norm: 'self_attn.kv_a_layernorm',
  attn_kv_b: 'self_attn.kv_b_proj',
  attn_k_b: 'self_attn.k_b_proj',
  attn_v_b: 'self_attn.v_b_proj',
  attn_sinks: 'self_attn.sinks',
  post_attention_norm: 'post_attention_layernorm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
  post_ffw_norm: 'post_feedforward_layernorm',
  ffn_gate_inp: 'mlp.gate',
  ffn_gate_exps: 'mlp.switch_mlp.gate_proj',
  ffn_up_exps: 'mlp.switch_mlp.up_proj',
  ffn_down_exps: 'mlp.switch_mlp.down_proj',
  ffn_gate_up_exps: 'mlp.switch_mlp.gate_up_proj',
  ffn_gate_shexp: 'mlp.shared_experts.gate_proj',
  ffn_up_shexp: 'mlp.shared_experts.up_proj',
  ffn_down_shexp: 'mlp.shared_experts.down_proj',
};

/** Of Gated DeltaNet hybrids, for `Architecture.names`. */
export const HYBRID_NAMES: LayerNames = {
  attn_qkv: 'linear_attn.in_proj_qkv',
  attn_gate: 'linear_attn.in_proj_z',
  ssm_in: 'linear_attn.in_proj_qkvz',
  ssm_ba: 'linear_attn.in_proj_ba',
  ssm_beta: 'linear_attn.in_proj_b',
  ssm_alpha: 'linear_attn.in_proj_a',
  ssm_conv1d: 'linear_attn.conv1d',
  ssm_dt: 'linear_attn.dt_bias',
  ssm_a: 'linear_attn.A_log',
  ssm_norm: 'linear_attn.norm',
  ssm_out: 'linear_attn.out_proj',
  ffn_gate_inp_shexp: 'mlp.shared_expert_gate',
  ffn_gate_shexp: 'mlp.shared_expert.gate_proj',
  ffn_up_shexp: 'mlp.shared_expert.up_proj',
  ffn_down_shexp: 'mlp.shared_expert.down_proj',
};

const GLOBAL: Readonly<Record<string, string>> = {
  token_embd: 'model.embed_tokens',
  output_norm: 'model.norm',
  output: 'lm_head',
};

/** Parameters of their own in Hugging Face checkpoints, not the weight of a module. */
const BARE = ['self_attn.sinks', 'linear_attn.A_log', 'linear_attn.dt_bias'];

/** Layer names in which an architecture differs from the table above. */
export type LayerNames = Readonly<Record<string, string>>;

/** The Hugging Face name of a tensor; a tensor that is not known keeps its own, and is then left over. */
export function huggingFaceName(name: string, own: LayerNames): string {
  const [, layer, stem = '', kind] =
    /^(?:blk\.(\d+)\.)?(.+?)(?:\.(weight|bias))?$/.exec(name) ?? [];
  const path = layer === undefined ? GLOBAL[stem] : (own[stem] ?? LAYER[stem]);
  if (path === undefined) return name;
  if (layer !== undefined && BARE.includes(path)) return `model.layers.${layer}.${path}`;
  if (kind === undefined) return name;
  return layer === undefined ? `${path}.${kind}` : `model.layers.${layer}.${path}.${kind}`;
}

/** Converters store -exp of the logarithms of the decay. */
export function isNegatedExponential(name: string): boolean {
  return name.endsWith('.ssm_a');
}
