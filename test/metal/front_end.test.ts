/** What the front end of npm run metal:check refuses, as Apple's compiler would; it also reads every kernel. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { checkMetal, frontEnd } from '../../scripts/check/metal.mjs';
import { listFiles } from '../../scripts/lib/content-hash.mjs';

/** Bodies of a kernel that has `out`, `tile`, `matrix` and `one`. */
const REFUSED: readonly (readonly [what: string, body: string])[] = [
  ['a matrix whose elements are set together', 'matrix.thread_elements() = half2(one, one);'],
  ['a pointer without an address space', 'float* pointer = out; pointer[0] = 1.0f;'],
  ['a pointer that changes its address space', 'DEVICE(float) pointer = tile; pointer[0] = 1.0f;'],
  ['a double', 'const double number = 0.5; out[0] = float(number);'],
  ['bits of another size', 'out[0] = as_type<float>(ulong(lane));'],
  ['a 64-bit number in a simdgroup', 'out[0] = float(simd_sum(ulong(lane)));'],
  ['an enumeration in min', 'out[0] = float(min(lane, CODE_GROUP));'],
];

const kernelOf = (body: string) => `#include "params.h"
KERNEL(planted, 32)(BUFFER(float, out, 0), PARAMS(ElementParams, p, 1), GRID) {
  THREADGROUP_ARRAY(float, tile, 32);
  simdgroup_matrix<half, 8, 8> matrix;
  const half one = half(1.0f);
  matrix.thread_elements()[0] = one;
  tile[lane] = float(matrix.thread_elements()[0]);
  out[p.count] = tile[lane];
  ${body}
}
`;

const skip = frontEnd() === null ? 'no clang and no Xcode' : false;

describe('the front end of the kernels', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'anllm-front-end-'));
  after(() => rmSync(folder, { recursive: true }));
  const findings = (body: string) => {
    const file = join(folder, 'planted.metal');
    writeFileSync(file, kernelOf(body));
    return checkMetal([file]);
  };

  test('takes a kernel that is right', async () => {
    assert.deepEqual(await findings(''), []);
  });
  for (const [what, body] of REFUSED) {
    test(`refuses ${what}`, async () => {
      assert.match((await findings(body)).join('\n'), /error:/);
    });
  }
  test('takes every kernel', async () => {
    assert.deepEqual(await checkMetal(listFiles('metal', /\.metal$/)), []);
  });
});
