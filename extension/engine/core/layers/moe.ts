import type { GraphBuilder } from '../graph';
import type { Activation, RoutingSpec, ValueId, WeightId } from '../program';
import type { Experts } from './experts';

export interface MoeSpec {
  readonly hidden: number;
  readonly routing: RoutingSpec;
  readonly experts: Experts;
  readonly activation: Activation;
  readonly router: WeightId;
  readonly routerBias?: WeightId;
  /** An expert that every row takes besides the chosen ones. */
  readonly shared?: {
    readonly path: string;
    readonly intermediate: number;
    /** [1, hidden]: the shared expert counts sigmoid of this; without it, 1. */
    readonly gate?: WeightId;
  };
}

/** Mixture of gated experts (Shazeer et al. 2017), with an optional shared expert; x [T, hidden] → [T, hidden]. */
export function moe(g: GraphBuilder, x: ValueId, spec: MoeSpec): ValueId {
  const { hidden, routing, experts, activation, shared } = spec;
  const sharedWeight = (name: string, rows: number, cols: number) =>
    shared === undefined ? {} : { shared: g.matrix(`${shared.path}.${name}.weight`, rows, cols) };
  const width = shared?.intermediate ?? 0;
  const route = g.moeRoute(x, routing, {
    router: spec.router,
    bias: spec.routerBias ?? null,
    sharedGate: shared?.gate ?? null,
  });
  const expand = (part: Experts['gate'], name: string) =>
    g.moeLinear('expand', x, route, routing, { ...part, ...sharedWeight(name, width, hidden) });
  const gate = expand(experts.gate, 'gate_proj');
  const up = expand(experts.up, 'up_proj');
  return g.moeLinear('reduce', g.gated(gate, up, activation), route, routing, {
    ...experts.down,
    ...sharedWeight('down_proj', hidden, width),
  });
}
