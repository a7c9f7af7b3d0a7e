import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  E2M1,
  e4m3ToNumber,
  e8m0ToNumber,
  float16ToNumber,
} from '../../../../../extension/engine/backend/reference/formats/floats';

test('binary16: zero, subnormal, normal, infinite', () => {
  const cases: [number, number][] = [
    [0x0000, 0],
    [0x0001, 2 ** -24],
    [0x3c00, 1],
    [0xc000, -2],
    [0x7bff, 65504],
    [0xfc00, -Infinity],
  ];
  for (const [bits, value] of cases) assert.equal(float16ToNumber(bits), value);
  assert.ok(Number.isNaN(float16ToNumber(0x7e00)));
});

// The values that the OCP specifications name: https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf
test('E4M3: largest 448, smallest normal 2^-6, smallest subnormal 2^-9, two NaNs, no infinity', () => {
  assert.equal(e4m3ToNumber(0x7e), 448);
  assert.equal(e4m3ToNumber(0xfe), -448);
  assert.equal(e4m3ToNumber(0x08), 2 ** -6);
  assert.equal(e4m3ToNumber(0x01), 2 ** -9);
  assert.equal(e4m3ToNumber(0x07), 0.875 * 2 ** -6);
  assert.equal(e4m3ToNumber(0x38), 1);
  const all = Array.from({ length: 256 }, (_, code) => e4m3ToNumber(code));
  assert.deepEqual(
    [...all.keys()].filter((code) => Number.isNaN(all[code])),
    [0x7f, 0xff],
  );
  assert.ok(!all.includes(Infinity));
});

test('E2M1 and E8M0', () => {
  assert.deepEqual(E2M1.slice(0, 8), [0, 0.5, 1, 1.5, 2, 3, 4, 6]);
  assert.deepEqual(
    E2M1.slice(8),
    E2M1.slice(0, 8).map((value) => -value),
  );
  assert.equal(e8m0ToNumber(127), 1);
  assert.equal(e8m0ToNumber(0), 2 ** -127);
  assert.equal(e8m0ToNumber(254), 2 ** 127);
  assert.ok(Number.isNaN(e8m0ToNumber(255)));
});
