import type { GenerateResult, TokenLogprob } from '../../generation/types';
import type { Call } from '../call';
import type { ServerEngine } from '../engine';
import { readAhead } from '../context';
import { completionFields, type CompletionFields } from '../fields/completion';
import { checkGrammar, grammarOf } from '../fields/format';
import { parseFields } from '../fields/parse';
import { promptParam } from '../fields/prompt_input';
import { generateAll, type ChoiceRequest } from '../generate';
import { json, streamed } from '../respond';
import { samplingOf } from '../sampling';
import { EventStream } from '../sse';
import { sumOf, usageOf, type Usage } from '../usage';
import {
  completionPrompt,
  completionRequest,
  legacyLogprobs,
  unscoredStart,
  type CompletionPrompt,
  type LegacyLogprobs,
} from './completion_prompt';

/** POST /v1/completions: https://platform.openai.com/docs/api-reference/completions */
export function completions(call: Call): Promise<Response> {
  const fields = parseFields(completionFields, call.body);
  return call.use(fields.model, async (engine, { id }) => {
    for (const [i, prompt] of fields.prompt.entries()) {
      if (typeof prompt !== 'string') continue;
      const param = promptParam('prompt', fields.prompt.length, i);
      await readAhead(engine, [prompt, fields.suffix ?? ''], param);
    }
    const completion = new Completion(call, engine, fields, id);
    return call.withRoom(completion.choices.length, () =>
      fields.stream === true ? completion.stream() : completion.whole(),
    );
  });
}

interface Choice {
  readonly prompt: CompletionPrompt;
  /** Null: only the prompt is wanted. */
  readonly request: ChoiceRequest | null;
}

class Completion {
  readonly choices: readonly Choice[];
  private readonly prompts: readonly CompletionPrompt[];
  /** Of the choices that the engine is asked for, their places among all. */
  private readonly asked: readonly number[];

  constructor(
    private readonly call: Call,
    private readonly engine: ServerEngine,
    private readonly fields: CompletionFields,
    private readonly model: string,
  ) {
    const n = fields.n ?? 1;
    this.prompts = fields.prompt.map((prompt, i) =>
      completionPrompt(engine, fields, prompt, promptParam('prompt', fields.prompt.length, i)),
    );
    const format = grammarOf(fields);
    if (format !== null) checkGrammar(engine, format.grammar, format.param);
    const sampling = samplingOf(fields, engine, n);
    this.choices = this.prompts.flatMap((prompt) =>
      sampling.map((params) => ({
        prompt,
        request: completionRequest(engine, fields, prompt, params),
      })),
    );
    this.asked = [...this.choices.keys()].filter((i) => this.choices[i]?.request !== null);
  }

  async whole(): Promise<Response> {
    const results = await generateAll(this.call, this.engine, this.requests());
    const byChoice = new Map(this.asked.map((choice, i) => [choice, results[i]]));
    const choices = this.choices.map(({ prompt }, index) => {
      const result = byChoice.get(index);
      const tokens = result?.logprobs ?? [];
      return {
        index,
        text: startOf(prompt, this.engine) + (result?.text ?? ''),
        logprobs: this.logprobs(prompt, tokens, true),
        finish_reason: result?.finishReason ?? 'length',
      };
    });
    return json({ ...this.head(), choices, usage: this.usage(results) });
  }

  async stream(): Promise<Response> {
    const events = new EventStream(this.call.response, this.call.state.timeouts);
    const includeUsage = this.fields.stream_options?.include_usage === true;
    const send = (
      index: number,
      text: string,
      logprobs: LegacyLogprobs | null,
      finish: string | null,
    ) =>
      events.send({
        ...this.head(),
        choices: [{ index, text, logprobs, finish_reason: finish }],
        ...(includeUsage ? { usage: null } : {}),
      });
    try {
      this.choices.forEach(({ prompt, request }, index) => {
        const start = startOf(prompt, this.engine);
        if (start !== '') send(index, start, this.logprobs(prompt, [], true), null);
        if (request === null) send(index, '', null, 'length');
      });
      const results = await generateAll(this.call, this.engine, this.requests(), {
        onText: ({ index, text, tokens }) => {
          const choice = this.asked[index] ?? 0;
          send(choice, text, this.logprobs(this.choices[choice]?.prompt, tokens, false), null);
          return true;
        },
        onEnd: (index, { finishReason }) => send(this.asked[index] ?? 0, '', null, finishReason),
      });
      if (includeUsage) events.send({ ...this.head(), choices: [], usage: this.usage(results) });
      events.done();
    } catch (error) {
      events.fail(error);
      throw error;
    }
    return streamed();
  }

  private requests(): ChoiceRequest[] {
    return this.choices.flatMap(({ request }) => (request === null ? [] : [request]));
  }

  /** Null unless asked for. `isFirst`: also the token of the prompt that has no probability. */
  private logprobs(
    prompt: CompletionPrompt | undefined,
    tokens: readonly TokenLogprob[],
    isFirst: boolean,
  ): LegacyLogprobs | null {
    if (this.fields.logprobs === undefined || prompt === undefined) return null;
    const answer = legacyLogprobs(this.engine, tokens, startOf(prompt, this.engine).length);
    const first = isFirst ? unscoredStart(prompt) : null;
    if (first === null) return answer;
    return {
      tokens: [this.engine.tokenizer.decode([first]), ...answer.tokens],
      token_logprobs: [null, ...answer.token_logprobs],
      top_logprobs: [null, ...answer.top_logprobs],
      text_offset: [0, ...answer.text_offset],
    };
  }

  private head() {
    const { id, created } = this.call;
    return { id: `cmpl-${id}`, object: 'text_completion', created, model: this.model };
  }

  private usage(results: readonly GenerateResult[]): Usage {
    const n = this.fields.n ?? 1;
    const forced = this.requests().reduce(
      (sum, { forcedIds }) => sum + (forcedIds?.length ?? 0),
      0,
    );
    return usageOf(
      this.prompts.reduce((sum, { ids }) => sum + ids.length, 0),
      sumOf(results, (result) => result.ids.length) - forced,
      Math.floor(sumOf(results, (result) => result.cachedTokens) / n),
    );
  }
}

/** The text before what the engine writes: the prompt, or, where its tokens are scored, the first of them. */
function startOf(prompt: CompletionPrompt, { tokenizer }: ServerEngine): string {
  if (prompt.scored === null) return prompt.echo;
  const first = unscoredStart(prompt);
  return first === null ? '' : tokenizer.decode([first]);
}
