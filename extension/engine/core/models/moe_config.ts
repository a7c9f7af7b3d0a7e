import type { ConfigReader } from '../../loading/config_reader';
import type { RoutingSpec } from '../program';

/** Experts of one layer; the largest published models have 512. */
const MAX_EXPERTS = 4096;

export interface MoeConfig {
  readonly routing: RoutingSpec;
  /** Inner width of one expert. */
  readonly intermediate: number;
}

/** The keys of the Qwen mixtures: softmax over all experts, top k, optionally renormalised. */
export function readQwenMoe(reader: ConfigReader, normalizeDefault: boolean): MoeConfig {
  // transformers writes num_experts as num_local_experts.
  const experts = readCount(
    reader,
    reader.has('num_experts') ? 'num_experts' : 'num_local_experts',
  );
  return {
    routing: {
      experts,
      topK: readTopK(reader, experts),
      scores: 'softmax',
      groups: null,
      normalize: reader.bool('norm_topk_prob', normalizeDefault),
      factor: 1,
    },
    intermediate: readWidth(reader, 'moe_intermediate_size'),
  };
}

export function readCount(reader: ConfigReader, key: string): number {
  return reader.int(key, { min: 1, max: MAX_EXPERTS });
}

export function readTopK(reader: ConfigReader, experts: number): number {
  return reader.int('num_experts_per_tok', { min: 1, max: experts });
}

export function readWidth(reader: ConfigReader, key: string): number {
  return reader.int(key, { min: 1, max: 1 << 20 });
}

/** Which layers have experts: all but mlp_only_layers, every decoder_sparse_step-th. */
export function readSparseLayers(reader: ConfigReader): (layer: number) => boolean {
  const step = reader.int('decoder_sparse_step', { min: 1, max: 1 << 20 }, 1);
  const dense = new Set(reader.optionalInts('mlp_only_layers', { min: 0, max: 1 << 20 }) ?? []);
  return (layer) => !dense.has(layer) && (layer + 1) % step === 0;
}
