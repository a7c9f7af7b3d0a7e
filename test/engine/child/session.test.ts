import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Session, type ModelSettings } from '../../../extension/engine/child/session';
import { EngineError } from '../../../extension/engine/errors';
import { call } from '../../../extension/protocol/peer';
import { PROTOCOL_VERSION } from '../../../extension/protocol/version';
import { ownCacheFolder } from '../../cache_folder';
import { connectedPair } from '../../protocol/pair';
import { requestAt } from '../completion/marked';
import { SETTINGS } from './child';

const settings = { ...SETTINGS, modelDir: '/models/x' };

describe('session', () => {
  const open = () => {
    const { host, engine } = connectedPair();
    const load = (): Promise<never> => Promise.reject(new Error('not in this test'));
    let resolve = (): void => undefined;
    const exited = new Promise<void>((done) => (resolve = done));
    new Session(engine, { load, exit: resolve });
    return { host, exited };
  };

  it('says hello with its version and process', async () => {
    const { host } = open();
    const answer = await call(host, 'hello', { protocolVersion: PROTOCOL_VERSION, settings });
    assert.deepEqual(answer, { protocolVersion: PROTOCOL_VERSION, pid: process.pid });
  });

  it('refuses a host of another version, and says what to do', async () => {
    const { host } = open();
    const protocolVersion = PROTOCOL_VERSION + 1;
    await assert.rejects(call(host, 'hello', { protocolVersion, settings }), {
      code: 'unavailable',
      message: /reload the window/,
    });
    await assert.rejects(call(host, 'load', null), { code: 'bad_request' });
  });

  it('refuses work before hello', async () => {
    const { host } = open();
    await assert.rejects(call(host, 'complete', requestAt('▮')), {
      code: 'bad_request',
      message: 'expected hello as the first request',
    });
  });

  it('says what the engine can load, and what is at a path', async () => {
    const { host } = open();
    await call(host, 'hello', { protocolVersion: PROTOCOL_VERSION, settings });
    const { modelTypes, ggufArchitectures } = await call(host, 'families', null);
    for (const name of ['qwen3', 'gemma3_text', 'gemma3', 'mistral3']) {
      assert(modelTypes.includes(name), name);
    }
    assert(ggufArchitectures.includes('qwen3moe') && !ggufArchitectures.includes('rwkv7'));
    const { unsupported } = await call(host, 'inspectModel', { path: '/nowhere' });
    assert.match(unsupported ?? '', /is not there/);
  });

  it('says what to do when no chat model is set', async () => {
    const { host } = open();
    await call(host, 'hello', { protocolVersion: PROTOCOL_VERSION, settings });
    await assert.rejects(call(host, 'loadChat', null), {
      code: 'unsupported',
      message: /choose one in anllm\.chat\.model/,
    });
  });

  it('loads one model once when both roles have it, and two when they differ', async () => {
    for (const [chatModelDir, loads] of [
      [settings.modelDir, 1],
      ['/models/y', 2],
    ] as const) {
      const loaded: string[] = [];
      const { host, engine } = connectedPair();
      const load = async ({ modelDir, contextLength }: ModelSettings): Promise<never> => {
        loaded.push(`${modelDir} ${contextLength}`);
        throw new EngineError('bad_model', 'not in this test');
      };
      new Session(engine, { load, exit: () => undefined });
      const both = { ...settings, chatModelDir, contextLength: 100, chatContextLength: 200 };
      await call(host, 'hello', { protocolVersion: PROTOCOL_VERSION, settings: both });
      await assert.rejects(call(host, 'complete', requestAt('▮')), { code: 'bad_model' });
      await assert.rejects(call(host, 'countTokens', { texts: ['a'] }), { code: 'bad_model' });
      assert.deepEqual(
        loaded,
        loads === 1 ? ['/models/x 200'] : ['/models/x 100', '/models/y 200'],
      );
    }
  });

  it('removes what was packed and what was kept of conversations, and nothing else', async () => {
    const { folder, restore } = ownCacheFolder();
    mkdirSync(join(folder, 'packed'));
    writeFileSync(join(folder, 'packed', 'a.weights'), '12345');
    writeFileSync(join(folder, 'packed', 'a.note'), 'x');
    mkdirSync(join(folder, 'sessions'));
    writeFileSync(join(folder, 'sessions', 'b.kv'), '123');
    writeFileSync(join(folder, 'other'), 'x');
    try {
      const { host } = open();
      await call(host, 'hello', { protocolVersion: PROTOCOL_VERSION, settings });
      assert.deepEqual(await call(host, 'clearCache', null), { files: 2, bytes: 8 });
      assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), [
        'other',
        'packed',
        'sessions',
      ]);
      assert.deepEqual(await call(host, 'clearCache', null), { files: 0, bytes: 0 });
      writeFileSync(join(folder, 'packed', 'a.weights'), '12345');
      writeFileSync(join(folder, 'sessions', 'b.kv'), '123');
      await call(host, 'forgetConversations', null);
      assert.deepEqual(readdirSync(join(folder, 'packed')), ['a.weights']);
      assert.deepEqual(readdirSync(join(folder, 'sessions')), []);
    } finally {
      restore();
    }
  });

  it('answers shutdown, then exits', async () => {
    const { host, exited } = open();
    assert.equal(await call(host, 'shutdown', null), null);
    await exited;
  });
});
