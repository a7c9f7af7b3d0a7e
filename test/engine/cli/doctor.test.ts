import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { doctor } from '../../../extension/engine/cli/doctor';
import { EXIT } from '../../../extension/engine/cli/exit_codes';
import { parseCommand } from '../../../extension/engine/cli/options';
import { temporaryFolder } from '../loading/model_fixture';

test('doctor writes what it found to a file, without the name of the user’s folder', async () => {
  const file = join(temporaryFolder(), 'report.json');
  const missing = join(homedir(), 'no-such-model');
  const { values } = parseCommand(doctor, ['--report', file, '--model', missing]);
  assert.equal(await doctor.run(values, []), EXIT.failed);
  const text = readFileSync(file, 'utf8');
  const { checks } = JSON.parse(text) as { checks: { name: string; ok: boolean }[] };
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  assert.deepEqual(failed, [join('~', 'no-such-model')]);
  assert.ok(checks.some(({ name }) => name === 'built-in model on reference'));
  assert.ok(!text.includes(homedir()));

  const nowhere = join(file, 'below');
  const { values: bad } = parseCommand(doctor, ['--report', nowhere]);
  await assert.rejects(Promise.resolve(doctor.run(bad, [])), { code: 'bad_request' });
});
