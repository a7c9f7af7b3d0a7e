import { randomBytes } from 'node:crypto';
import { answerParser } from '../../generation/answer_parser';
import type { AnswerParser, AnswerPart } from '../../generation/answer_part';
import type { ToolSchema } from '../../generation/tools/call_parser';
import type { Tokenizer } from '../../loading/tokenizer';

/** A call of a function that the model asks for. */
export interface OutputCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export type OutputPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: OutputCall; readonly index: number };

export interface OutputOptions {
  /** The text begins within the model's thoughts. */
  readonly isThinking: boolean;
  /** Calls are looked for when there are any. */
  readonly tools: readonly ToolSchema[];
  /** See AnswerParserOptions. */
  readonly knowsTools?: boolean;
  /** Further calls are dropped, and the answer ends. */
  readonly onlyOneCall: boolean;
}

/**
 * The text of an assistant's turn in its parts: thoughts, answer and calls. However the text is cut into pieces, the
 * parts say the same.
 */
export class AssistantOutput {
  reasoning = '';
  text = '';
  readonly calls: OutputCall[] = [];
  private readonly parser: AnswerParser;

  constructor(
    tokenizer: Tokenizer,
    private readonly options: OutputOptions,
    private readonly onPart: (part: OutputPart) => void = () => undefined,
  ) {
    this.parser = answerParser(tokenizer, options);
  }

  /** False when the answer has come to its end. */
  push(delta: string): boolean {
    this.take(this.parser.push(delta));
    return !this.isOver;
  }

  /** The end of the text: gives out what was held back. */
  finish(): void {
    this.take(this.parser.flush());
  }

  private get isOver(): boolean {
    return this.options.onlyOneCall && this.calls.length > 0;
  }

  private take(parts: readonly AnswerPart[]): void {
    for (const part of parts) {
      if (this.isOver) return;
      if (part.kind === 'call') {
        const call = { id: `call_${randomBytes(12).toString('hex')}`, ...part.call };
        this.calls.push(call);
        this.onPart({ kind: 'call', call, index: this.calls.length - 1 });
        continue;
      }
      if (part.kind === 'text') this.text += part.text;
      else this.reasoning += part.text;
      this.onPart(part);
    }
  }
}
