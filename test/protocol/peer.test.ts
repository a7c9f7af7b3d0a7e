import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CancellationTokenSource, RequestType } from 'vscode-jsonrpc/node';
import { EngineError } from '../../extension/engine/errors';
import type { CompletionResult } from '../../extension/protocol/completion';
import { ERROR_CODES, ProtocolError } from '../../extension/protocol/errors';
import { call, handle, notify, onNotify } from '../../extension/protocol/peer';
import { requestAt } from '../engine/completion/marked';
import { connectedPair } from './pair';

const RESULT: CompletionResult = {
  text: '42;',
  replaceAfter: 0,
  reason: null,
  stop: 'model',
  promptTokens: 10,
  cachedTokens: 0,
  generatedTokens: 2,
  timings: { queueMs: 0, prefillMs: 1, decodeMs: 1, totalMs: 2 },
};
const REQUEST = requestAt('const x = ▮');

describe('peer', () => {
  it('carries parameters, partial results in order, and the result', async () => {
    const { host, engine } = connectedPair();
    handle(engine, 'complete', async (params, { partial }) => {
      assert.deepEqual(params, REQUEST);
      for (const text of ['4', '42', '42;']) partial({ text, replaceAfter: 0 });
      return RESULT;
    });
    const partials: string[] = [];
    const onPartial = ({ text }: { text: string }): void => void partials.push(text);
    assert.deepEqual(await call(host, 'complete', REQUEST, { onPartial }), RESULT);
    assert.deepEqual(partials, ['4', '42', '42;']);
  });

  it('carries a cancellation', async () => {
    const { host, engine } = connectedPair();
    handle(engine, 'complete', async (_, { token, partial }) => {
      partial({ text: '4', replaceAfter: 0 });
      if (!token.isCancellationRequested) {
        await new Promise((resolve) => token.onCancellationRequested(resolve));
      }
      return { ...RESULT, reason: 'cancelled' };
    });
    const early = new CancellationTokenSource();
    const unheard = call(host, 'complete', REQUEST, { token: early.token });
    early.cancel();
    assert.equal((await unheard).reason, 'cancelled', 'before the engine read the request');
    const late = new CancellationTokenSource();
    const onPartial = (): void => late.cancel();
    const answer = await call(host, 'complete', REQUEST, { token: late.token, onPartial });
    assert.equal(answer.reason, 'cancelled', 'in mid-answer');
  });

  it('carries every error code of the engine with its message', async () => {
    const { host, engine } = connectedPair();
    for (const code of ERROR_CODES) {
      const handler = handle(engine, 'load', async () => {
        throw new EngineError(code, `what happened: ${code}`);
      });
      await assert.rejects(call(host, 'load', null), (error) => {
        assert(error instanceof ProtocolError);
        assert.deepEqual([error.code, error.message], [code, `what happened: ${code}`]);
        return true;
      });
      handler.dispose();
    }
  });

  it('an error that is nobody’s is internal', async () => {
    const { host, engine } = connectedPair();
    handle(engine, 'load', async () => {
      throw new TypeError('x is undefined');
    });
    await assert.rejects(call(host, 'load', null), { code: 'internal', message: 'x is undefined' });
  });

  it('refuses a request and a result of a wrong shape', async () => {
    const { host, engine } = connectedPair();
    handle(engine, 'complete', async () => ({ ...RESULT, text: 7 }) as never);
    await assert.rejects(
      call(host, 'complete', REQUEST),
      /complete\.text: expected a string, got 7/,
    );
    const raw = new RequestType<unknown, unknown, unknown>('complete');
    await assert.rejects(
      host.sendRequest(raw, { params: {}, partialToken: 't' }),
      /complete\.path: expected a string/,
    );
    await assert.rejects(host.sendRequest(raw, 'text'), /complete: expected an object/);
  });

  it('a connection that closes fails what waits', async () => {
    const { host, engine } = connectedPair();
    handle(engine, 'load', () => new Promise(() => undefined));
    const answer = call(host, 'load', null);
    host.dispose();
    await assert.rejects(answer, { code: 'unavailable' });
  });

  it('carries notifications, checked', async () => {
    const { host, engine } = connectedPair();
    const status = new Promise((resolve) => onNotify(host, 'status', resolve));
    notify(engine, 'status', { state: 'idle', memoryBytes: 5 });
    assert.deepEqual(await status, { state: 'idle', memoryBytes: 5 });
  });
});
