import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activate } from '../../../../extension/engine/backend/reference/activation';
import type { Activation } from '../../../../extension/engine/core/program';

function apply(name: Activation, gate: number, up: number): number {
  const out = new Float32Array(1);
  activate(name, Float32Array.of(gate), Float32Array.of(up), out);
  return out[0] ?? NaN;
}

test('activations at points known from tables', () => {
  const cases: [Activation, number, number][] = [
    ['silu', 1, 0.7310586],
    ['sigmoid', -2, 0.1192029],
    ['relu', -3, 0],
    ['gelu', 1, 0.8413447], // Φ(1)
    ['gelu', -3, -0.0040497],
    ['gelu_tanh', 1, 0.841192],
  ];
  for (const [name, x, expected] of cases) {
    assert.ok(Math.abs(apply(name, x, 2) - 2 * expected) < 1e-6, `${name}(${x})`);
  }
});

test('the clamped SwiGLU cuts the gate above and the up value on both sides', () => {
  const cut = 7 / (1 + Math.exp(-1.702 * 7));
  assert.ok(Math.abs(apply('swiglu_oai', 50, 50) - cut * 8) < 1e-5);
  assert.ok(Math.abs(apply('swiglu_oai', 50, -50) - cut * -6) < 1e-5);
  assert.ok(Math.abs(apply('swiglu_oai', -50, 0)) < 1e-6);
});
