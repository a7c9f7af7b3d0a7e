/** The wrapper around Apple's runtime, on a runtime of our own: messages, their types, references and the order of calls. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { buildStandIn } from './build.mjs';
import { skip } from './runner';

const ROOT = resolve(__dirname, '../..');

describe('native/metal/apple on the stand-in runtime', { skip }, () => {
  let built: Awaited<ReturnType<typeof buildStandIn>>;
  before(async () => {
    built = await buildStandIn();
  });

  test('messages have the documented types, and every object is released once', () => {
    const { status, stdout, stderr } = spawnSync(built.program, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const lines = stdout.trim().split('\n');
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('ok ')),
      [],
    );
    assert.ok(lines.length > 30, `${lines.length} checks`);
  });

  const conformance = (env: NodeJS.ProcessEnv = {}) =>
    spawnSync(
      process.execPath,
      [
        '--import',
        'tsx',
        'scripts/conformance.ts',
        '--backend=metal-exact',
        'test/fixtures/families/qwen2-q4-g64',
      ],
      { cwd: ROOT, encoding: 'utf8', env: { ...process.env, ...env, ANLLM_PREBUILD: built.addon } },
    );

  test('a model has the logits of the reference through it', () => {
    const { status, stdout } = conformance();
    assert.equal(status, 0, stdout);
    assert.match(stdout, /1 of 1 pass/);
  });

  test('a model that is too large for the GPU is refused before it is read', () => {
    const { status, stdout, stderr } = conformance({ ANLLM_STAND_IN_BYTES: '1000' });
    assert.notEqual(status, 0);
    assert.match(stdout + stderr, /take \d+ MiB, stand-in works with 0 MiB/);
  });
});

test('every message cites the page of Apple’s documentation that gives its types', () => {
  const table = readFileSync(join(ROOT, 'native/metal/apple/selectors.h'), 'utf8').replace(
    /\\\n/g,
    ' ',
  );
  const rows = [...table.matchAll(/X\((\w+),\s*"([\w:]+)",\s*"([^"]*)"/g)];
  assert.ok(rows.length > 25);
  for (const [, name, , page] of rows)
    assert.match(page ?? '', /^(metal|foundation|objectivec)\/\w/, name);
});
