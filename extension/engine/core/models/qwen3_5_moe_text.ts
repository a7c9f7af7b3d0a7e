import type { ModelFamily } from './family';
import { readQwenMoe } from './moe_config';
import { buildHybrid } from './qwen_hybrid';
import { readSharedWidth, sharedExpertMoe } from './qwen_shared_moe';

/** Qwen3.5 mixture of experts: Gated DeltaNet hybrid, every layer with routed experts and a gated shared one. */
export const qwen35MoeText: ModelFamily = {
  modelType: 'qwen3_5_moe_text',
  build(reader, tensors) {
    const config = readQwenMoe(reader, true);
    const sharedWidth = readSharedWidth(reader);
    return buildHybrid(reader, tensors, {
      modelType: 'qwen3_5_moe_text',
      layout: 'separate',
      hasDenseLayers: false,
      feedForward: (g, x, path, layer) =>
        sharedExpertMoe(g, tensors, x, path, { ...layer, config, sharedWidth }),
    });
  },
};
