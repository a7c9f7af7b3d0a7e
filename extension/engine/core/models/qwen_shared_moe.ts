import type { ConfigReader } from '../../loading/config_reader';
import type { TensorIndex } from '../../loading/weights';
import type { GraphBuilder } from '../graph';
import { expertWeights } from '../layers/experts';
import { moe } from '../layers/moe';
import type { Activation, ValueId } from '../program';
import { readWidth, type MoeConfig } from './moe_config';

export function readSharedWidth(reader: ConfigReader): number {
  return readWidth(reader, 'shared_expert_intermediate_size');
}

/** Routed experts and a shared one behind a sigmoid gate, as Qwen's mixtures have them. */
export function sharedExpertMoe(
  g: GraphBuilder,
  tensors: TensorIndex,
  x: ValueId,
  path: string,
  spec: { hidden: number; activation: Activation; config: MoeConfig; sharedWidth: number },
): ValueId {
  const { hidden, activation, config, sharedWidth } = spec;
  const { routing, intermediate } = config;
  const { experts } = routing;
  return moe(g, x, {
    hidden,
    routing,
    activation,
    experts: expertWeights(g, tensors, path, { experts, hidden, intermediate }),
    router: g.matrix(`${path}.gate.weight`, experts, hidden),
    shared: {
      path: `${path}.shared_expert`,
      intermediate: sharedWidth,
      gate: g.matrix(`${path}.shared_expert_gate.weight`, 1, hidden),
    },
  });
}
