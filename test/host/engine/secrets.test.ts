/** Keys and tokens go to the engine by message: no list of processes, no log and no error shows them. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { EngineLink } from '../../../extension/host/engine/link';
import { startProcess } from '../../../extension/host/engine/process';
import { MODEL_SAMPLING, type ChatRequest } from '../../../extension/protocol/chat';
import { SETTINGS, TSX } from '../../engine/child/child';
import { requestAt } from '../../engine/completion/marked';
import { events, FakeServer, json, models, type Answer } from '../../engine/remote/fake_server';

const KEY = 'sk-0123456789-very-secret';
const TOKEN = 'server-token-0123456789-secret';
const script = new URL('../../../extension/engine/main.ts', import.meta.url).pathname;
const settings = { ...SETTINGS, threads: 1, contextLength: 512 };
const question: ChatRequest = {
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
  toolChoice: 'auto',
  sampling: MODEL_SAMPLING,
  thinking: 'auto',
  maxTokens: 9,
};

describe('a key of the user', () => {
  let server: FakeServer;
  let link: EngineLink | undefined;
  /** All that the engine's process says to anybody. */
  let said: string[] = [];
  beforeEach(() => (said = []));
  afterEach(async () => {
    await link?.stop();
    link = undefined;
    await server.close();
  });

  async function start(
    answers: Readonly<Record<string, Answer>>,
    apiKey = KEY,
  ): Promise<EngineLink> {
    server = await FakeServer.start({ 'GET /v1/models': models('coder'), ...answers });
    const remote = { url: server.url, model: '', apiKey, fim: 'suffix' } as const;
    const hear = (what: unknown): void => void said.push(JSON.stringify(what));
    link = await startProcess(
      { script, settings: { ...settings, remote }, execArgv: TSX },
      { onStatus: hear, onChatStatus: hear, onLog: hear, onExit: hear },
    );
    return link;
  }

  /** Asks for a completion and an answer; what comes of it, errors included, is heard. */
  async function ask({ call }: Pick<EngineLink, 'call'>): Promise<string> {
    const asked = [call('complete', requestAt('x = ▮\n')), call('chat', question)] as const;
    for (const result of await Promise.allSettled(asked)) {
      const { reason } = result as { reason?: Error };
      said.push(reason ? (reason.stack ?? reason.message) : JSON.stringify(result));
    }
    return said.join('\n');
  }
  const asked = async (started: EngineLink): Promise<string> =>
    ask({ call: started.call.bind(started) });

  it(
    'and the token of the server are in no list of processes and no environment',
    { skip: !existsSync('/proc/self/cmdline') },
    async () => {
      const started = await start({});
      // Refused beside a remote server, but it has arrived.
      const request = { publicPort: 8642, token: TOKEN, origins: [] };
      await assert.rejects(started.call('startServer', request), { code: 'unsupported' });
      for (const file of ['cmdline', 'environ']) {
        const text = readFileSync(`/proc/${started.pid}/${file}`, 'latin1');
        assert.ok(text.length > 0);
        assert.ok(!text.includes(KEY) && !text.includes(TOKEN), file);
      }
      assert.doesNotMatch(said.join('\n'), /secret/);
    },
  );

  it('is sent to the server, and not told when the server quotes it', async () => {
    const refusal = json(401, { error: { message: `Incorrect API key provided: ${KEY}.` } });
    const text = await asked(
      await start({ 'POST /v1/completions': refusal, 'POST /v1/chat/completions': refusal }),
    );
    assert.equal(server.of('/v1/chat/completions')[0]?.authorization, `Bearer ${KEY}`);
    assert.match(text, /Incorrect API key provided: \(the API key\)\./);
    assert.ok(!text.includes(KEY), text);
  });

  it('is not told by an error in the middle of a stream', async () => {
    const breaks = events([{ error: { message: `quota of ${KEY} is used up` } }]);
    const text = await asked(
      await start({ 'POST /v1/completions': breaks, 'POST /v1/chat/completions': breaks }),
    );
    assert.match(text, /quota of \(the API key\) is used up/);
    assert.ok(!text.includes(KEY), text);
  });

  it('is not told when it cannot be sent', async () => {
    const wrong = `${KEY}\u007f`;
    const text = await asked(await start({}, wrong));
    assert.equal(server.asked.length, 0);
    assert.match(text, /header/);
    assert.ok(!text.includes(KEY), text);
  });
});
