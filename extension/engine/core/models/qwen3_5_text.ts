import { gatedMlp } from '../layers/mlp';
import type { ModelFamily } from './family';
import { buildHybrid } from './qwen_hybrid';

/** Qwen3.5, dense: Gated DeltaNet hybrid with a gated MLP. */
export const qwen35Text: ModelFamily = {
  modelType: 'qwen3_5_text',
  build: (reader, tensors) =>
    buildHybrid(reader, tensors, {
      modelType: 'qwen3_5_text',
      layout: 'separate',
      hasDenseLayers: true,
      feedForward: gatedMlp,
    }),
};
