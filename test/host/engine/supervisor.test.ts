import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineLink } from '../../../extension/host/engine/link';
import { EngineSupervisor } from '../../../extension/host/engine/supervisor';
import type { ChatPart, ChatRequest, ChatResult } from '../../../extension/protocol/chat';
import { ProtocolError } from '../../../extension/protocol/errors';
import { until } from '../../until';

const REQUEST = { messages: [], maxTokens: 1 } as unknown as ChatRequest;
const PART: ChatPart = { kind: 'text', text: 'a' };

/** Each process in turn answers with its number; the first one only when it is stopped, and then it is gone. */
function setUp({ says = false } = {}) {
  let asked = 0;
  const start = async (): Promise<EngineLink> => {
    const pid = supervisor.starts;
    let end = (): void => undefined;
    const stopped = new Promise<void>((resolve) => (end = resolve));
    const call = async (_: string, __: unknown, options: { onPartial?: (p: ChatPart) => void }) => {
      asked++;
      if (says) options.onPartial?.(PART);
      if (pid > 1) return { text: String(pid) };
      await stopped;
      throw new ProtocolError('unavailable', 'the engine is shutting down');
    };
    return { pid, call: call as unknown as EngineLink['call'], stop: async () => end() };
  };
  const supervisor = new EngineSupervisor({ start, log: () => undefined });
  const chat = (): Promise<ChatResult> => supervisor.chat(REQUEST, {});
  const isAsked = () => until('the question', () => asked > 0);
  return { supervisor, chat, isAsked };
}

describe('a question under which the engine is stopped', () => {
  it('is asked again of the next one, also when the first was still starting', async () => {
    for (const waits of [true, false]) {
      const { supervisor, chat, isAsked } = setUp();
      const answer = chat();
      if (waits) await isAsked();
      await supervisor.stop();
      assert.deepEqual(await answer, { text: '2' });
    }
  });

  it('fails when its answer had begun, and when the window closes', async () => {
    for (const [says, end] of [
      [true, 'stop'],
      [false, 'close'],
    ] as const) {
      const { supervisor, chat, isAsked } = setUp({ says });
      const answer = chat();
      await isAsked();
      await supervisor[end]();
      await assert.rejects(answer, { code: 'unavailable' });
      assert.equal(supervisor.starts, 1);
    }
  });
});
