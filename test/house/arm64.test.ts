import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { crossBuild } from '../../scripts/cross-build.mjs';
import { arm64Node, whyNoArm64 } from '../../scripts/lib/arm64.mjs';
import { mustSucceed, root } from '../../scripts/lib/process.mjs';

const cli = path.join(root, 'dist', 'cli.js');

// The first addon that node-gyp-build finds is this machine's own; the emulated node needs the cross-built one.
const prebuildsOnly = { env: { PREBUILDS_ONLY: '1' } };

describe('the NEON kernels under emulation', { skip: whyNoArm64() }, () => {
  for (const precision of ['fast', 'exact']) {
    test(`generate the tokens of this machine, ${precision}`, async () => {
      await crossBuild('linux-arm64');
      const text = 'def add(a, b):\n    return';
      const options = ['--raw', '--temp', '0', '--max-tokens', '12', '--backend', 'cpu', '--json'];
      const args = [cli, 'run', text, ...options, '--precision', precision];
      const [emulator, ...node] = await arm64Node();
      const [here, there] = await Promise.all([
        mustSucceed(process.execPath, args),
        mustSucceed(emulator, [...node, ...args], prebuildsOnly),
      ]);
      assert.deepEqual(idsOf(there), idsOf(here));
      assert.equal(idsOf(here).length, 12);
    });
  }

  test('agree with the goldens of a checkpoint', async () => {
    const [emulator, ...node] = await arm64Node();
    const checkpoint = path.join(root, 'test', 'fixtures', 'conformance', 'qwen3-mlx-q4-g64');
    const variants = ['--backend', 'cpu-exact', '--backend', 'cpu'];
    await mustSucceed(emulator, [...node, cli, 'verify', checkpoint, ...variants], prebuildsOnly);
  });
});

function idsOf(json: string): readonly number[] {
  return (JSON.parse(json) as { ids: number[] }).ids;
}
