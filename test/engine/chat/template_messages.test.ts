import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templateInput } from '../../../extension/engine/chat/template_messages';
import type { ChatMessage } from '../../../extension/protocol/chat';

const CONVERSATION: readonly ChatMessage[] = [
  { role: 'user', content: 'What time is it?' },
  {
    role: 'assistant',
    content: '',
    reasoning: '',
    toolCalls: [{ id: 'call_0e4a-11', name: 'now', arguments: '{}' }],
  },
  { role: 'tool', content: '12:00', toolCallId: 'call_0e4a-11', name: 'now' },
];

/** The ids of the call and of its result. */
function idsOf(wantsShortIds: boolean, messages = CONVERSATION): unknown[] {
  const input = templateInput(messages, [], { knowsTools: true, wantsShortIds });
  const [, call, result] = input.messages as unknown as {
    tool_calls?: { id: string }[];
    tool_call_id?: string;
  }[];
  return [call?.tool_calls?.[0]?.id, result?.tool_call_id];
}

test('Mistral’s templates take names of calls of nine letters and digits', () => {
  const [call, result] = idsOf(true);
  assert.match(String(call), /^[A-Za-z0-9]{9}$/);
  assert.equal(result, call);
  assert.deepEqual(idsOf(false), ['call_0e4a-11', 'call_0e4a-11']);
  const own = JSON.parse(
    JSON.stringify(CONVERSATION).replaceAll('call_0e4a-11', 'aB3dE6gH9'),
  ) as typeof CONVERSATION;
  assert.deepEqual(idsOf(true, own), ['aB3dE6gH9', 'aB3dE6gH9']);
});
