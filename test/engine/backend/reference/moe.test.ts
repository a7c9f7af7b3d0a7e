import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GraphBuilder } from '../../../../extension/engine/core/graph';
import type { RoutingSpec } from '../../../../extension/engine/core/program';
import { runGraph } from './run_graph';

const PLAIN: RoutingSpec = {
  experts: 4,
  topK: 2,
  scores: 'softmax',
  groups: null,
  normalize: false,
  factor: 1,
};

/** The route of one row whose logits are given. */
async function route(
  logits: readonly number[],
  spec: Partial<RoutingSpec>,
  correction?: readonly number[],
): Promise<number[]> {
  const experts = logits.length;
  const g = new GraphBuilder();
  const x = g.embed(g.matrix('x', 1, experts));
  const router = g.matrix('router', experts, experts);
  const out = g.moeRoute(
    x,
    { ...PLAIN, experts, ...spec },
    { router, correction: correction === undefined ? null : g.vector('correction', experts) },
  );
  const identity = Array.from({ length: experts ** 2 }, (_, i) =>
    i % (experts + 1) === 0 ? 1 : 0,
  );
  const weights = { x: logits, router: identity, correction: correction ?? [] };
  const [row = []] = await runGraph(g, out, weights, 1);
  return row.map((v) => Math.round(v * 1e5) / 1e5);
}

describe('a router', () => {
  const logits = [0, Math.log(2), Math.log(5), Math.log(2)]; // softmax: .1 .2 .5 .2

  test('takes the best, the first of equals, with their share of all', async () => {
    assert.deepEqual(await route(logits, {}), [2, 1, 0.5, 0.2, 1]);
  });
  test('can make the shares sum to one', async () => {
    assert.deepEqual(await route(logits, { normalize: true }), [2, 1, 0.71429, 0.28571, 1]);
    assert.deepEqual(
      await route(logits, { scores: 'softmax_of_chosen' }),
      [2, 1, 0.71429, 0.28571, 1],
    );
  });
  test('multiplies last', async () => {
    assert.deepEqual(await route(logits, { factor: 10 }), [2, 1, 5, 2, 1]);
  });
  test('can choose by corrected scores and weigh by the plain ones', async () => {
    const correction = [9, 0, 0, 1];
    assert.deepEqual(
      await route([0, 0, 0, 0], { scores: 'sigmoid' }, correction),
      [0, 3, 0.5, 0.5, 1],
    );
  });
  test('can be limited to groups, ranked by their best or their two best', async () => {
    const six = [3, 0, 0, 2, 2, 2].map((v) => v / 10);
    const groups = { count: 3, kept: 1 };
    const byBest = await route(six, { groups: { ...groups, rank: 'max' }, scores: 'sigmoid' });
    assert.deepEqual(byBest.slice(0, 2), [0, 1]);
    const byTwo = await route(six, { groups: { ...groups, rank: 'top2_sum' }, scores: 'sigmoid' });
    assert.deepEqual(byTwo.slice(0, 2), [4, 5]);
  });
});

test('experts, their biases and a gated shared expert add up by their weights', async () => {
  const routing: RoutingSpec = { ...PLAIN, experts: 2, topK: 1, scores: 'softmax_of_chosen' };
  const g = new GraphBuilder();
  const x = g.embed(g.matrix('x', 2, 2));
  const sharedGate = g.matrix('sharedGate', 1, 2);
  const routed = g.moeRoute(x, routing, { router: g.matrix('router', 2, 2), sharedGate });
  const inner = g.moeLinear('expand', x, routed, routing, {
    weights: [g.matrix('up0', 1, 2), g.matrix('up1', 1, 2)],
    shared: g.matrix('sharedUp', 2, 2),
  });
  const out = g.moeLinear('reduce', inner, routed, routing, {
    weights: [g.matrix('down', 4, 1)],
    bias: g.vector('bias', 4),
    shared: g.matrix('sharedDown', 2, 2),
  });
  const rows = await runGraph(
    g,
    out,
    {
      x: [1, 0, 0, 1],
      router: [1, 0, 0, 1], // row t goes to expert t
      sharedGate: [0, 0], // sigmoid 0.5
      up0: [2, 0],
      up1: [0, 3],
      sharedUp: [1, 0, 0, 1],
      down: [1, 10, 100, 1000], // [1, 10] of expert 0
      bias: [0.5, 0, 0, 0.25],
      sharedDown: [4, 0, 0, 8],
    },
    2,
  );
  assert.deepEqual(rows, [
    [2 * 1 + 0.5 + 0.5 * 4, 2 * 10],
    [3 * 100, 3 * 1000 + 0.25 + 0.5 * 8],
  ]);
});
