import type { GenerateResult } from '../../generation/types';
import type { Call } from '../call';
import { ItemWriter, type ResponseItem } from '../chat/items';
import { AssistantOutput } from '../chat/output';
import { prepareChat, type PreparedChat } from '../chat/request';
import type { ServerEngine } from '../engine';
import { asApiError } from '../errors';
import { parseFields } from '../fields/parse';
import { responsesFields, type ResponsesFields } from '../fields/responses';
import { generateAll } from '../generate';
import { json, streamed } from '../respond';
import { EventStream } from '../sse';

/** POST /v1/responses: https://platform.openai.com/docs/api-reference/responses */
export function responses(call: Call): Promise<Response> {
  const fields = parseFields(responsesFields, call.body);
  return call.use(fields.model, async (engine, { id }) => {
    const { instructions, input } = fields;
    const prepared = await prepareChat(engine, {
      messages:
        instructions === undefined ? input : [{ role: 'system', content: instructions }, ...input],
      tools: fields.tools ?? [],
      toolChoice: fields.tool_choice ?? 'auto',
      onlyOneCall: fields.parallel_tool_calls === false,
      thinking: fields.reasoning?.effort === 'none' ? false : undefined,
      grammar: fields.text?.format,
      grammarParam: 'text.format',
      sampling: fields,
      stop: [],
      maxTokens: fields.max_output_tokens,
      n: 1,
    });
    const answer = new ResponseAnswer(call, engine, fields, prepared, id);
    return call.withRoom(1, () => (fields.stream === true ? answer.stream() : answer.whole()));
  });
}

class ResponseAnswer {
  constructor(
    private readonly call: Call,
    private readonly engine: ServerEngine,
    private readonly fields: ResponsesFields,
    private readonly prepared: PreparedChat,
    private readonly model: string,
  ) {}

  async whole(): Promise<Response> {
    const { body } = await this.run(() => undefined);
    return json(body);
  }

  async stream(): Promise<Response> {
    const events = new EventStream(this.call.response, this.call.state.timeouts);
    let sequence_number = 0;
    const send = (type: string, value: object): void =>
      events.send({ type, ...value, sequence_number: sequence_number++ }, type);
    try {
      const started = this.body('in_progress', [], null);
      send('response.created', { response: started });
      send('response.in_progress', { response: started });
      const { status, body } = await this.run(send);
      send(`response.${status}`, { response: body });
      events.end();
    } catch (error) {
      const { code, message, param } = asApiError(error);
      send('error', { code, message, param });
      events.end();
      throw error;
    }
    return streamed();
  }

  private async run(send: (type: string, value: object) => void) {
    const items = new ItemWriter(this.call.id, send);
    const output = new AssistantOutput(this.engine.tokenizer, this.prepared.output, (part) =>
      items.write(part),
    );
    const [result] = await generateAll(this.call, this.engine, this.prepared.requests, {
      onText: ({ text }) => output.push(text),
    });
    if (result === undefined) throw new Error('no answer to one request');
    output.finish();
    const status = result.finishReason === 'length' ? 'incomplete' : 'completed';
    items.close(status);
    const reasoningTokens = this.engine.tokenizer.encode(output.reasoning).length;
    return { status, body: this.body(status, items.items, this.usage(result, reasoningTokens)) };
  }

  private usage(result: GenerateResult, reasoning_tokens: number) {
    const { promptTokens, forcedTokens } = this.prepared;
    const input_tokens = promptTokens + forcedTokens;
    const output_tokens = result.ids.length - forcedTokens;
    return {
      input_tokens,
      input_tokens_details: { cached_tokens: Math.min(result.cachedTokens, promptTokens) },
      output_tokens,
      output_tokens_details: { reasoning_tokens },
      total_tokens: input_tokens + output_tokens,
    };
  }

  private body(status: string, output: readonly ResponseItem[], usage: object | null) {
    const { fields, call, model } = this;
    return {
      id: `resp_${call.id}`,
      object: 'response',
      created_at: call.created,
      status,
      error: null,
      incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
      instructions: fields.instructions ?? null,
      max_output_tokens: fields.max_output_tokens ?? null,
      model,
      output,
      parallel_tool_calls: fields.parallel_tool_calls !== false,
      previous_response_id: null,
      reasoning: { effort: fields.reasoning?.effort ?? null, summary: null },
      store: false,
      temperature: fields.temperature ?? null,
      text: { format: fields.text?.format ?? { type: 'text' } },
      tool_choice: choiceOf(fields),
      tools: (fields.tools ?? []).map(({ name, description, parameters }) => ({
        type: 'function',
        name,
        description,
        parameters: JSON.parse(parameters) as unknown,
        strict: false,
      })),
      top_p: fields.top_p ?? null,
      truncation: 'disabled',
      usage,
      metadata: {},
    };
  }
}

function choiceOf({ tool_choice: choice = 'auto' }: ResponsesFields): unknown {
  if (typeof choice === 'string') return choice;
  return choice.name === null ? 'required' : { type: 'function', name: choice.name };
}
