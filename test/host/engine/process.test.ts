import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { LinkEvents } from '../../../extension/host/engine/link';
import { startProcess } from '../../../extension/host/engine/process';
import { EngineSupervisor } from '../../../extension/host/engine/supervisor';
import type { LogEntry } from '../../../extension/protocol/engine';
import { ProtocolError } from '../../../extension/protocol/errors';
import { SETTINGS, TSX } from '../../engine/child/child';
import { requestAt } from '../../engine/completion/marked';
import { isAlive } from '../../is_alive';

const script = new URL('../../engine/child/fake_engine.ts', import.meta.url).pathname;
const request = requestAt('const x = ▮\n');

/** A supervisor over real processes whose model writes `text`, at `msPerCharacter`. */
class Lab {
  readonly log: LogEntry[] = [];
  readonly statuses: string[] = [];
  clock = 0;
  readonly supervisor: EngineSupervisor;

  constructor(text: string, msPerCharacter = 0, idleMinutes = 0) {
    const settings = { ...SETTINGS, modelDir: `${text}@${msPerCharacter}`, idleMinutes };
    this.supervisor = new EngineSupervisor({
      start: (events: LinkEvents) => startProcess({ script, settings, execArgv: TSX }, events),
      log: (entry) => this.log.push(entry),
      now: () => this.clock,
    });
    this.supervisor.onStatus(({ state }) => this.statuses.push(state));
  }

  status(state: string): Promise<void> {
    return new Promise((resolve) => {
      const listener = this.supervisor.onStatus((status) => {
        if (status.state !== state) return;
        listener.dispose();
        resolve();
      });
    });
  }

  async failure(promise: Promise<unknown>): Promise<ProtocolError> {
    try {
      await promise;
    } catch (error) {
      assert(error instanceof ProtocolError, String(error));
      return error;
    }
    throw new assert.AssertionError({ message: 'expected a ProtocolError' });
  }
}

describe('engine process', () => {
  let lab: Lab;
  afterEach(() => lab.supervisor.close());

  it('completes, streams, and tells what it does', async () => {
    lab = new Lab('42;');
    assert.equal(lab.supervisor.pid, undefined, 'nothing runs before the first request');
    const partials: string[] = [];
    const result = await lab.supervisor.complete(request, {
      onPartial: ({ text }) => partials.push(text),
    });
    assert.equal(result.text, '42;');
    assert.deepEqual(partials, ['4', '42', '42;']);
    assert.deepEqual(lab.statuses, ['loading', 'loading', 'ready', 'generating', 'ready']);
  });

  it('cancels', async () => {
    lab = new Lab('a long text that nobody waits for', 50);
    const controller = new AbortController();
    const result = lab.supervisor.complete(request, {
      signal: controller.signal,
      onPartial: () => controller.abort(),
    });
    assert.equal((await result).reason, 'cancelled');
  });

  it('reads a broken model once, says so, and lives on', async () => {
    lab = new Lab('broken');
    for (let i = 0; i < 2; i++) {
      const { code, message } = await lab.failure(lab.supervisor.complete(request, {}));
      assert.equal(code, 'bad_model');
      assert.match(message, /no model in this folder/);
    }
    assert.deepEqual(lab.statuses, ['loading', 'loading', 'failed']);
    assert.equal(lab.supervisor.starts, 1);
  });

  it('a kill -9 in mid-answer fails the request; the next completion starts a process at once', async () => {
    lab = new Lab('abcdef', 20);
    const pending = lab.supervisor.complete(request, {
      onPartial: ({ text }) => {
        const { pid } = lab.supervisor;
        if (text === 'ab' && pid !== undefined) process.kill(pid, 'SIGKILL');
      },
    });
    const { code, message } = await lab.failure(pending);
    assert.equal(code, 'unavailable');
    assert.match(message, /SIGKILL/);
    assert.equal(lab.supervisor.status.state, 'crashed');
    assert.equal((await lab.supervisor.complete(request, {})).text, 'abcdef');
    assert.equal(lab.supervisor.starts, 2);
  });

  it('waits after a second crash, and not after a minute of health', async () => {
    lab = new Lab('abcdef');
    const crash = async (): Promise<void> => {
      await lab.supervisor.complete(request, {});
      const crashed = lab.status('crashed');
      process.kill(lab.supervisor.pid ?? 0, 'SIGKILL');
      await crashed;
    };
    await crash();
    await crash();
    const { code, message } = await lab.failure(lab.supervisor.complete(request, {}));
    assert.equal(code, 'unavailable');
    assert.match(message, /start again in 0\.5 s/);
    lab.clock += 500;
    await lab.supervisor.complete(request, {});
    lab.clock += 60_000;
    await crash();
    assert.equal((await lab.supervisor.complete(request, {})).text, 'abcdef');
  });

  it('an error that nobody catches is logged and ends the process with code 70', async () => {
    lab = new Lab('ab%cdef', 20);
    const { message } = await lab.failure(lab.supervisor.complete(request, {}));
    assert.match(message, /exit code 70/);
    assert(
      lab.log.some(({ level, message }) => level === 'error' && /nobody catches/.test(message)),
    );
  });

  it('an error of one request is answered, and the process lives on', async () => {
    lab = new Lab('a!');
    const { code } = await lab.failure(lab.supervisor.complete(request, {}));
    assert.equal(code, 'internal');
    const { pid } = lab.supervisor;
    await lab.failure(lab.supervisor.complete(request, {}));
    assert.equal(lab.supervisor.pid, pid);
  });

  it('ends with the window, also in mid-answer', async () => {
    lab = new Lab('a text that takes half a minute', 1000);
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => (resolve = done));
    const pending = lab.supervisor.complete(request, { onPartial: () => resolve() });
    await promise;
    const pid = lab.supervisor.pid ?? 0;
    await Promise.all([pending.catch(() => undefined), lab.supervisor.close()]);
    assert.equal(isAlive(pid), false);
    assert.equal((await lab.failure(lab.supervisor.complete(request, {}))).code, 'unavailable');
  });

  it('frees an idle model and loads it again', async () => {
    lab = new Lab('42;', 0, 0.001);
    await lab.supervisor.complete(request, {});
    await lab.status('idle');
    assert.equal((await lab.supervisor.complete(request, {})).text, '42;');
    assert.equal(lab.supervisor.starts, 1);
  });
});
