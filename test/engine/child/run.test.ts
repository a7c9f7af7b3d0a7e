import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { startProcess } from '../../../extension/host/engine/process';
import { isAlive } from '../../is_alive';
import { until } from '../../until';
import { requestAt } from '../completion/marked';
import { SETTINGS, TSX, unheard } from './child';

const path = (relative: string): string => new URL(relative, import.meta.url).pathname;

describe('engine child', () => {
  it('ends when its host is killed, also in mid-answer', async () => {
    const host = spawn(process.execPath, [...TSX, path('./fake_host.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(host.stdout, 'data')) as [Buffer];
    const pid = Number(output.toString().split('\n')[0]);
    assert(isAlive(pid));
    host.kill('SIGKILL');
    await until('the end of the child', () => !isAlive(pid));
  });

  it('completes with the embedded model', async () => {
    const link = await startProcess(
      {
        script: path('../../../extension/engine/main.ts'),
        settings: {
          ...SETTINGS,
          modelDir: path('../../../extension/assets/sprout'),
          threads: 1,
          contextLength: 512,
        },
        execArgv: TSX,
      },
      unheard,
    );
    try {
      const document = 'def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    ret▮\n';
      const python = { path: 'math.py', languageId: 'python', tabSize: 4, maxTokens: 24 };
      const result = await link.call('complete', requestAt(document, python));
      assert.match(result.text, /^urn a/);
      const again = await link.call('complete', requestAt(document, python));
      assert.equal(again.text, result.text);
      assert(
        again.cachedTokens > result.cachedTokens,
        'the second request finds the first one’s keys and values',
      );
    } finally {
      await link.stop();
    }
  });
});
