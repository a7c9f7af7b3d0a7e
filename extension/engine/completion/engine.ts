import type { GenerateRequest, GenerateResult } from '../generation/types';
import type { FimFormat } from '../loading/fim';
import type { Tokenizer } from '../loading/tokenizer';

/** What the completion pipeline uses of the engine. */
export interface CompletionEngine {
  readonly info: { readonly contextLength: number };
  readonly tokenizer: Tokenizer;
  readonly fim: FimFormat | null;
  generate(request: GenerateRequest): Promise<GenerateResult>;
}
