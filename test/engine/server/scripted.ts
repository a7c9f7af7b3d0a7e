/** A model that writes what a test wants, token by token, through the engine's own code for answers. */
import { AnswerFactory } from '../../../extension/engine/generation/answer';
import type { EmbedRequest, EngineRequest } from '../../../extension/engine/engine';
import { EngineError } from '../../../extension/engine/errors';
import type { Grammar } from '../../../extension/engine/generation/constrain/constraint';
import { Grammars } from '../../../extension/engine/generation/constrain/grammars';
import type { GenerateResult } from '../../../extension/engine/generation/types';
import { ChatTemplate } from '../../../extension/engine/loading/chat_template';
import { findFim } from '../../../extension/engine/loading/fim';
import { embeddedModel } from '../../../extension/engine/loading/model_dir';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';
import type { ServedModel, ServerEngine } from '../../../extension/engine/server/engine';

export const tokenizer = loadTokenizer(embeddedModel());
const CONTEXT = 512;

/** Writes each message as `<role>text`, tools first, and lets the assistant begin. */
const TEMPLATE = `{%- if tools %}{{ '<tools>' }}{%- for tool in tools %}{{ tool | tojson }}{%- endfor %}{%- endif %}
{%- for message in messages %}
  {%- if message.content == 'raise' %}{{ raise_exception('this template does not like it') }}{%- endif %}
  {{- '<' + message.role + '>' + (message.content if message.content is string else '') }}
  {%- if message.tool_calls %}{%- for call in message.tool_calls %}{{ '[call ' + call.function.name + ']' }}{%- endfor %}{%- endif %}
{%- endfor %}{{ '<assistant>' }}{% if enable_thinking is defined and enable_thinking %}{{ '<think>' }}{% endif %}`;

const CLOSING = ['"', '}'].flatMap((text) => tokenizer.encode(text));
const ends = (count: number): number[] => Array<number>(count).fill(tokenizer.eosId ?? 0);

export interface Script {
  /** What the model writes; by the prompt, as text. */
  readonly text: string | ((prompt: string) => string);
  readonly msPerToken?: number;
  readonly chat?: boolean;
  readonly fim?: boolean;
  readonly template?: string;
}

export class ScriptedEngine implements ServerEngine {
  readonly info = { contextLength: CONTEXT, backend: 'reference', title: 'scripted' };
  readonly embeddingSize = 4;
  readonly tokenizer = tokenizer;
  readonly fim;
  readonly chat;
  readonly generationConfig = { eosIds: [tokenizer.eosId ?? 0], sampling: { temperature: 0 } };
  readonly requests: EngineRequest[] = [];
  running = 0;
  /** Thrown by the next token. */
  failure: Error | null = null;
  private readonly grammars = new Grammars({
    tokenizer,
    eosIds: this.generationConfig.eosIds,
    vocabSize: tokenizer.vocabSize,
  });
  private readonly answers = new AnswerFactory({
    tokenizer,
    eosIds: this.generationConfig.eosIds,
    vocabSize: tokenizer.vocabSize,
    contextLength: CONTEXT,
  });

  constructor(readonly script: Script) {
    this.fim = script.fim === false ? null : findFim(tokenizer, { fim: null, title: '' });
    const template = script.template ?? TEMPLATE;
    this.chat = script.chat === false ? null : ChatTemplate.of('test', template, {}, tokenizer);
  }

  checkGrammar(grammar: Grammar): void {
    this.grammars.begin(grammar).mask(new Float32Array(tokenizer.vocabSize));
  }

  async embed({ ids, pooling, signal }: EmbedRequest): Promise<Float32Array> {
    this.running++;
    await new Promise((resolve) => setTimeout(resolve, this.script.msPerToken ?? 0));
    this.running--;
    if (this.failure !== null) throw this.failure;
    if (signal?.aborted === true) throw new EngineError('cancelled', 'cancelled');
    return Float32Array.of(0.5, pooling === 'last' ? -0.5 : 0.5, (ids[0] ?? 0) % 2, ids.length);
  }

  metrics(): null {
    return null;
  }

  async generate({ grammar, ...given }: EngineRequest): Promise<GenerateResult> {
    this.requests.push({ ...given, ...(grammar === undefined ? {} : { grammar }) });
    const request = {
      ...given,
      ...(grammar === undefined ? {} : { constraint: this.grammars.begin(grammar) }),
    };
    const { text, msPerToken = 0 } = this.script;
    const { ids, signal } = request;
    const written = typeof text === 'string' ? text : text(tokenizer.decode(ids));
    const script = [
      ...(given.forcedIds ?? []),
      ...tokenizer.encodeTemplate(written),
      ...ends(grammar === undefined ? 1 : 200),
    ];
    const answer = this.answers.begin(request);
    this.running++;
    try {
      for (const id of script) {
        if (msPerToken > 0) await new Promise((resolve) => setTimeout(resolve, msPerToken));
        else await Promise.resolve();
        if (signal?.aborted === true) break;
        if (this.failure !== null) throw this.failure;
        const logits = new Float32Array(tokenizer.vocabSize);
        // Held to a grammar, it closes what is open as soon as it may.
        if (grammar !== undefined) for (const closing of CLOSING) logits[closing] = 10;
        else logits[id] = 20;
        if (!answer.draw(logits)) break;
      }
      answer.finish();
    } finally {
      this.running--;
    }
    return {
      text: answer.text,
      ids: answer.ids,
      finishReason: signal?.aborted === true ? 'cancelled' : answer.finishReason,
      promptTokens: ids.length,
      cachedTokens: 0,
      ...(answer.stopString === null ? {} : { stopString: answer.stopString }),
      ...(request.logprobs === undefined ? {} : { logprobs: answer.logprobs }),
      timings: { queueMs: 0, prefillMs: 0, decodeMs: 0 },
    };
  }
}

/** A model as the server sees it that is always in memory. */
export function served(engine: ServerEngine, id: string): ServedModel {
  return {
    id,
    created: 1_767_225_600,
    state: 'ready',
    loaded: engine,
    use: (task) => task(engine),
  };
}
