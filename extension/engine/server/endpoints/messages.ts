import type { GenerateResult } from '../../generation/types';
import type { Call } from '../call';
import { AssistantOutput, type OutputCall } from '../chat/output';
import { chatPrompt } from '../chat/prompt';
import { prepareChat, type PreparedChat } from '../chat/request';
import { BlockWriter } from '../chat/blocks';
import { asApiError } from '../errors';
import type { ServerEngine } from '../engine';
import {
  countTokensFields,
  messagesApiFields,
  type MessagesApiFields,
} from '../fields/messages_api';
import { parseFields } from '../fields/parse';
import { generateAll } from '../generate';
import { json, streamed } from '../respond';
import { EventStream } from '../sse';

type PromptFields = Pick<
  MessagesApiFields,
  'messages' | 'system' | 'tools' | 'tool_choice' | 'thinking'
>;

/** POST /v1/messages: https://docs.anthropic.com/en/api/messages */
export function messages(call: Call): Promise<Response> {
  const fields = parseFields(messagesApiFields, call.body);
  return call.use(fields.model, async (engine, { id }) => {
    const prepared = await prepareChat(engine, {
      ...promptOf(fields),
      toolChoice: fields.tool_choice?.choice ?? 'auto',
      onlyOneCall: fields.tool_choice?.onlyOneCall === true,
      grammar: undefined,
      grammarParam: '',
      sampling: fields,
      stop: fields.stop_sequences ?? [],
      maxTokens: fields.max_tokens,
      n: 1,
    });
    const message = new Message(call, engine, prepared, id);
    return call.withRoom(1, () => (fields.stream === true ? message.stream() : message.whole()));
  });
}

/** POST /v1/messages/count_tokens */
export function countTokens(call: Call): Promise<Response> {
  const fields = parseFields(countTokensFields, call.body);
  return call.use(fields.model, async (engine) => {
    const { tools, ...prompt } = promptOf(fields);
    for (const message of prompt.messages) await engine.tokenizer.prepare(message.content);
    const shown = fields.tool_choice?.choice === 'none' ? [] : tools;
    return json({ input_tokens: chatPrompt(engine, { ...prompt, tools: shown }).ids.length });
  });
}

function promptOf({ messages: said, system, tools, thinking }: PromptFields) {
  return {
    messages: system === undefined ? said : [{ role: 'system' as const, content: system }, ...said],
    tools: tools ?? [],
    thinking: thinking !== undefined && thinking.type !== 'disabled',
  };
}

class Message {
  constructor(
    private readonly call: Call,
    private readonly engine: ServerEngine,
    private readonly prepared: PreparedChat,
    private readonly model: string,
  ) {}

  async whole(): Promise<Response> {
    const output = new AssistantOutput(this.engine.tokenizer, this.prepared.output);
    const result = await this.run(output);
    return json({
      ...this.head(),
      content: contentOf(output),
      ...endOf(result, output),
      usage: this.usage(result),
    });
  }

  async stream(): Promise<Response> {
    const events = new EventStream(this.call.response, this.call.state.timeouts);
    const send = (type: string, value: object): void => events.send({ type, ...value }, type);
    const blocks = new BlockWriter(send);
    const output = new AssistantOutput(this.engine.tokenizer, this.prepared.output, (part) =>
      blocks.write(part),
    );
    try {
      const empty = { content: [], stop_reason: null, stop_sequence: null };
      send('message_start', { message: { ...this.head(), ...empty, usage: this.usage(null) } });
      const result = await this.run(output);
      blocks.close();
      send('message_delta', { delta: endOf(result, output), usage: this.usage(result) });
      send('message_stop', {});
      events.end();
    } catch (error) {
      events.send(asApiError(error).anthropicBody(), 'error');
      events.end();
      throw error;
    }
    return streamed();
  }

  private async run(output: AssistantOutput): Promise<GenerateResult> {
    const [result] = await generateAll(this.call, this.engine, this.prepared.requests, {
      onText: ({ text }) => output.push(text),
    });
    if (result === undefined) throw new Error('no answer to one request');
    output.finish();
    return result;
  }

  private head() {
    return { id: `msg_${this.call.id}`, type: 'message', role: 'assistant', model: this.model };
  }

  private usage(result: GenerateResult | null) {
    const { promptTokens, forcedTokens } = this.prepared;
    const cached = Math.min(result?.cachedTokens ?? 0, promptTokens);
    return {
      input_tokens: promptTokens + forcedTokens - cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens: result === null ? 0 : result.ids.length - forcedTokens,
    };
  }
}

function contentOf({ reasoning, text, calls }: AssistantOutput) {
  return [
    ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature: '' }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(toolUse),
  ];
}

function toolUse({ id, name, arguments: args }: OutputCall) {
  return { type: 'tool_use', id, name, input: JSON.parse(args) as unknown };
}

function endOf(result: GenerateResult, { calls }: AssistantOutput) {
  const stop_sequence = result.stopString ?? null;
  return { stop_reason: stopReason(result, calls.length > 0), stop_sequence };
}

function stopReason({ finishReason, stopString }: GenerateResult, hasCalls: boolean): string {
  if (stopString !== undefined) return 'stop_sequence';
  if (finishReason === 'length') return 'max_tokens';
  return hasCalls ? 'tool_use' : 'end_turn';
}
