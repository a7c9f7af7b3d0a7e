import type { GenerateResult } from '../../generation/types';
import type { Call } from '../call';
import { chatLogprobs } from '../chat/logprobs';
import { AssistantOutput, type OutputPart } from '../chat/output';
import { prepareChat, type PreparedChat } from '../chat/request';
import type { ServerEngine } from '../engine';
import { chatFields, type ChatFields } from '../fields/chat';
import { grammarOf } from '../fields/format';
import { parseFields } from '../fields/parse';
import { generateAll } from '../generate';
import { json, streamed } from '../respond';
import { EventStream } from '../sse';
import { sumOf, usageOf, type Usage } from '../usage';

/** POST /v1/chat/completions: https://platform.openai.com/docs/api-reference/chat */
export function chatCompletions(call: Call): Promise<Response> {
  const fields = parseFields(chatFields, call.body);
  return call.use(fields.model, async (engine, { id }) => {
    const format = grammarOf(fields);
    const prepared = await prepareChat(engine, {
      messages: fields.messages,
      tools: fields.tools ?? [],
      toolChoice: fields.tool_choice ?? 'auto',
      onlyOneCall: fields.parallel_tool_calls === false,
      thinking: thinkingOf(fields),
      grammar: format?.grammar,
      grammarParam: format?.param ?? '',
      sampling: fields,
      stop: fields.stop,
      maxTokens: fields.max_completion_tokens ?? fields.max_tokens,
      n: fields.n ?? 1,
      logprobs: fields.logprobs === true ? (fields.top_logprobs ?? 0) : undefined,
    });
    const chat = new ChatCompletion(call, engine, fields, prepared, id);
    return call.withRoom(prepared.requests.length, () =>
      fields.stream === true ? chat.stream() : chat.whole(),
    );
  });
}

function thinkingOf({ chat_template_kwargs, reasoning_effort }: ChatFields): boolean | undefined {
  return chat_template_kwargs?.enable_thinking ?? (reasoning_effort === 'none' ? false : undefined);
}

type Delta = Readonly<Record<string, unknown>>;

interface RunListeners {
  readonly onLogprobs?: (index: number, logprobs: unknown) => void;
  readonly onEnd?: (index: number, result: GenerateResult) => void;
}

class ChatCompletion {
  constructor(
    private readonly call: Call,
    private readonly engine: ServerEngine,
    private readonly fields: ChatFields,
    private readonly prepared: PreparedChat,
    private readonly model: string,
  ) {}

  async whole(): Promise<Response> {
    const outputs = this.outputs(() => undefined);
    const results = await this.run(outputs);
    const choices = results.map((result, index) => ({
      index,
      message: messageOf(outputs[index]),
      logprobs: result.logprobs === undefined ? null : chatLogprobs(this.engine, result.logprobs),
      finish_reason: finishOf(result, outputs[index]),
    }));
    return json({ ...this.head('chat.completion'), choices, usage: this.usage(results, outputs) });
  }

  async stream(): Promise<Response> {
    const events = new EventStream(this.call.response, this.call.state.timeouts);
    const includeUsage = this.fields.stream_options?.include_usage === true;
    const send = (
      index: number,
      delta: Delta,
      finish: string | null = null,
      logprobs: unknown = null,
    ) =>
      events.send({
        ...this.head('chat.completion.chunk'),
        choices: [{ index, delta, logprobs, finish_reason: finish }],
        ...(includeUsage ? { usage: null } : {}),
      });
    const outputs = this.outputs((index, part) => {
      for (const delta of deltasOf(part)) send(index, delta);
    });
    try {
      this.prepared.requests.forEach((_, index) => send(index, { role: 'assistant', content: '' }));
      const results = await this.run(outputs, {
        onLogprobs: (index, logprobs) => send(index, {}, null, logprobs),
        onEnd: (index, result) => send(index, {}, finishOf(result, outputs[index])),
      });
      if (includeUsage) {
        events.send({
          ...this.head('chat.completion.chunk'),
          choices: [],
          usage: this.usage(results, outputs),
        });
      }
      events.done();
    } catch (error) {
      events.fail(error);
      throw error;
    }
    return streamed();
  }

  private outputs(onPart: (index: number, part: OutputPart) => void): AssistantOutput[] {
    const { requests, output } = this.prepared;
    return requests.map(
      (_, index) =>
        new AssistantOutput(this.engine.tokenizer, output, (part) => onPart(index, part)),
    );
  }

  private run(
    outputs: readonly AssistantOutput[],
    { onLogprobs, onEnd }: RunListeners = {},
  ): Promise<GenerateResult[]> {
    return generateAll(this.call, this.engine, this.prepared.requests, {
      onText: ({ index, text, tokens }) => {
        const goesOn = outputs[index]?.push(text);
        if (tokens.length > 0) onLogprobs?.(index, chatLogprobs(this.engine, tokens));
        return goesOn;
      },
      onEnd: (index, result) => {
        outputs[index]?.finish();
        onEnd?.(index, result);
      },
    });
  }

  private head(object: string) {
    const { id, created } = this.call;
    return {
      id: `chatcmpl-${id}`,
      object,
      created,
      model: this.model,
      system_fingerprint: this.fingerprint(),
    };
  }

  /** Answers to the same seed are the same as long as this is the same. */
  private fingerprint(): string {
    return `fp_${this.call.state.version}_${this.engine.info.backend}`;
  }

  private usage(results: readonly GenerateResult[], outputs: readonly AssistantOutput[]): Usage {
    const { promptTokens, forcedTokens } = this.prepared;
    const reasoning = outputs.map(
      (output) => this.engine.tokenizer.encode(output.reasoning).length,
    );
    return usageOf(
      promptTokens + forcedTokens,
      sumOf(results, (result) => result.ids.length - forcedTokens),
      Math.floor(sumOf(results, (result) => result.cachedTokens) / results.length),
      reasoning.reduce((sum, tokens) => sum + tokens, 0),
    );
  }
}

function messageOf(output: AssistantOutput | undefined) {
  const { text = '', reasoning = '', calls = [] } = output ?? {};
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(callOf) }),
  };
}

function callOf({ id, name, arguments: args }: AssistantOutput['calls'][number]) {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** A part as changes to the message: a call's name comes whole and first. */
function deltasOf(part: OutputPart): Delta[] {
  switch (part.kind) {
    case 'text':
      return [{ content: part.text }];
    case 'reasoning':
      return [{ reasoning_content: part.text }];
    case 'call': {
      const { index, call } = part;
      const start = callOf({ ...call, arguments: '' });
      return [
        { tool_calls: [{ index, ...start }] },
        { tool_calls: [{ index, function: { arguments: call.arguments } }] },
      ];
    }
  }
}

function finishOf({ finishReason }: GenerateResult, output: AssistantOutput | undefined): string {
  return finishReason === 'stop' && (output?.calls.length ?? 0) > 0 ? 'tool_calls' : finishReason;
}
