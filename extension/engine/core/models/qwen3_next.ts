import { gatedMlp } from '../layers/mlp';
import type { ModelFamily } from './family';
import { readQwenMoe, readSparseLayers } from './moe_config';
import { buildHybrid } from './qwen_hybrid';
import { readSharedWidth, sharedExpertMoe } from './qwen_shared_moe';

/** Qwen3-Next: Gated DeltaNet hybrid, most layers with routed experts and a gated shared one. */
export const qwen3Next: ModelFamily = {
  modelType: 'qwen3_next',
  build(reader, tensors) {
    const config = readQwenMoe(reader, true);
    const sharedWidth = readSharedWidth(reader);
    const isSparse = readSparseLayers(reader);
    return buildHybrid(reader, tensors, {
      modelType: 'qwen3_next',
      layout: 'grouped',
      hasDenseLayers: true,
      feedForward: (g, x, path, layer) =>
        isSparse(layer.index)
          ? sharedExpertMoe(g, tensors, x, path, { ...layer, config, sharedWidth })
          : gatedMlp(g, x, path, layer),
    });
  },
};
