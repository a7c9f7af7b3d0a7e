import { DEFAULT_FEATURES } from '../../../extension/protocol/engine';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { startProcess } from '../../../extension/host/engine/process';
import { until } from '../../until';
import { requestAt } from '../completion/marked';

const path = (relative: string): string => new URL(relative, import.meta.url).pathname;
const TSX = ['--import', 'tsx'];

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('engine child', () => {
  it('ends when its host is killed, also in mid-answer', async () => {
    const host = spawn(process.execPath, [...TSX, path('./fake_host.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = (await once(host.stdout, 'data')) as [Buffer];
    const pid = Number(output.toString().split('\n')[0]);
    assert(alive(pid));
    host.kill('SIGKILL');
    await until('the end of the child', () => !alive(pid));
  });

  it('completes with the embedded model', async () => {
    const link = await startProcess(
      {
        script: path('../../../extension/engine/main.ts'),
        settings: {
          modelDir: path('../../../extension/assets/sprout'),
          chatModelDir: '',
          chatContextLength: 0,
          backend: 'auto',
          threads: 1,
          contextLength: 512,
          batchSize: 0,
          prefillStep: 0,
          sessionCache: 0,
          draftModelDir: '',
          kvBits: 16,
          idleMinutes: 0,
          features: DEFAULT_FEATURES,
          remote: null,
        },
        execArgv: TSX,
      },
      {
        onStatus: () => undefined,
        onChatStatus: () => undefined,
        onLog: () => undefined,
        onExit: () => undefined,
      },
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
