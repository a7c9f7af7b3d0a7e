import type { EngineRequest } from '../engine';
import type { GenerateResult } from '../generation/types';
import type { ChatTemplate } from '../loading/chat_template';
import type { GenerationConfig } from '../loading/generation_config';
import type { Tokenizer } from '../loading/tokenizer';

/** What a chat uses of the engine. */
export interface ChatEngine {
  readonly info: { readonly contextLength: number; readonly title: string };
  readonly tokenizer: Tokenizer;
  /** Null for models that only continue text. */
  readonly chat: Pick<ChatTemplate, 'encode' | 'knowsTools' | 'wantsShortIds'> | null;
  readonly generationConfig: Pick<GenerationConfig, 'sampling'>;
  generate(request: EngineRequest): Promise<GenerateResult>;
}
