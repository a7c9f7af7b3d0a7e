import type { Tokenizer } from '../loading/tokenizer';
import type { AnswerParser, AnswerPart } from './answer_part';
import { HarmonyParser } from './harmony';
import { ReasoningSplitter, type ThoughtOrText } from './reasoning';
import type { CallParser, ToolSchema } from './tools/call_parser';
import { CALL_START, HermesParser } from './tools/hermes';
import { LLAMA_START, LlamaParser } from './tools/llama';
import { GRANITE_END, GRANITE_START, MISTRAL_START, MistralParser } from './tools/mistral';

/** How a model writes thoughts and calls. */
export type AnswerFormat = 'hermes' | 'mistral' | 'granite' | 'llama' | 'harmony';

/**
 * By the control tokens that a tokenizer has; the model's name is never looked at. Models that were made of Llama 3 keep its
 * tokens beside their own. `knowsTools`: see ChatTemplate; else the model was told of Hermes' form.
 */
export function answerFormat(
  tokenizer: Pick<Tokenizer, 'specialId'>,
  knowsTools = true,
): AnswerFormat {
  const has = (text: string) => tokenizer.specialId(text) !== null;
  if (has('<|channel|>') && has('<|message|>')) return 'harmony';
  if (!knowsTools || has(CALL_START)) return 'hermes';
  if (has(MISTRAL_START)) return 'mistral';
  if (has(GRANITE_START)) return 'granite';
  return has(LLAMA_START) ? 'llama' : 'hermes';
}

export interface AnswerParserOptions {
  /** The prompt ends within the model's thoughts. */
  readonly isThinking: boolean;
  /** Calls are looked for when there are any. */
  readonly tools: readonly ToolSchema[];
  /** Default true; see answerFormat. */
  readonly knowsTools?: boolean;
}

export function answerParser(
  tokenizer: Pick<Tokenizer, 'specialId'>,
  { isThinking, tools, knowsTools }: AnswerParserOptions,
): AnswerParser {
  const format = answerFormat(tokenizer, knowsTools);
  if (format === 'harmony') return new HarmonyParser();
  return new TaggedParser(isThinking, tools.length > 0 ? callParser(format, tools) : null);
}

function callParser(
  format: Exclude<AnswerFormat, 'harmony'>,
  tools: readonly ToolSchema[],
): CallParser {
  switch (format) {
    case 'hermes':
      return new HermesParser(tools);
    case 'mistral':
      return new MistralParser();
    case 'granite':
      return new MistralParser(GRANITE_START, GRANITE_END);
    case 'llama':
      return new LlamaParser(tools);
  }
}

/** Thoughts in tags before the answer, and calls within it. */
class TaggedParser implements AnswerParser {
  private readonly reasoning: ReasoningSplitter;

  constructor(
    isThinking: boolean,
    private readonly calls: CallParser | null,
  ) {
    this.reasoning = new ReasoningSplitter(isThinking);
  }

  push(delta: string): AnswerPart[] {
    return this.reasoning.push(delta).flatMap((part) => this.split(part));
  }

  flush(): AnswerPart[] {
    const rest = this.reasoning.flush().flatMap((part) => this.split(part));
    return [...rest, ...(this.calls?.flush() ?? [])];
  }

  private split(part: ThoughtOrText): AnswerPart[] {
    if (part.kind === 'reasoning' || this.calls === null) return [part];
    return this.calls.push(part.text);
  }
}
