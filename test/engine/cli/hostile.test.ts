/** What `anllm run` and `anllm verify` make of corrupt model files: one line, exit code 2, soon, with little memory. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT, exitCodeOf } from '../../../extension/engine/cli/exit_codes';
import { parseCommand, type Command } from '../../../extension/engine/cli/options';
import { run } from '../../../extension/engine/cli/run';
import { verify } from '../../../extension/engine/cli/verify';
import { FIXTURES } from '../loading/model_fixture';

const SHARED = resolve(__dirname, '../../../../shared/hostile');
const FOLDERS = [join(FIXTURES, 'hostile'), join(FIXTURES, 'hostile-gguf'), SHARED];
const MAX_MS = 1_000;
const MAX_GROWTH_KB = 200 * 1024;

async function refuses(command: Command, file: string, text: readonly string[]): Promise<void> {
  const { values, positionals } = parseCommand(command, ['--model', file, ...text]);
  const started = performance.now();
  await assert.rejects(Promise.resolve(command.run(values, positionals)), (error: unknown) => {
    assert.ok(error instanceof Error);
    assert.equal(exitCodeOf(error), EXIT.badInput, `${file}: ${error.stack}`);
    assert.ok(error.message.startsWith(file), `${error.message} does not name ${file}`);
    assert.doesNotMatch(error.message, /[\r\n]/, file);
    return true;
  });
  const ms = performance.now() - started;
  assert.ok(ms <= MAX_MS, `${file}: ${ms.toFixed(0)} ms`);
}

describe('a corrupt file given as a model', () => {
  for (const folder of FOLDERS) {
    const skip = existsSync(folder) ? false : 'not there; the fixtures hold the same cases';
    test(folder, { skip }, async () => {
      const before = process.resourceUsage().maxRSS;
      const files = readdirSync(folder).filter((name) => /\.(safetensors|gguf)$/.test(name));
      assert.ok(files.length > 30, `${files.length}`);
      for (const name of files) {
        await refuses(run, join(folder, name), ['hi']);
        await refuses(verify, join(folder, name), []);
      }
      const growth = process.resourceUsage().maxRSS - before;
      assert.ok(growth <= MAX_GROWTH_KB, `memory grew by ${growth} KB`);
    });
  }
});
