import type { CompletionTimings } from '../../protocol/completion';
import { GREEDY, type FinishReason } from '../generation/types';
import { unlessCancelled } from '../generation/unless_cancelled';
import type { CompletionEngine } from './engine';
import { buildPrompt, type PromptText } from './prompt';

export interface MiddleOptions {
  readonly maxTokens: number;
  /** Token healing at the cursor, where the writer has it. */
  readonly heal: boolean;
  readonly signal: AbortSignal | undefined;
  /** False ends the text. */
  readonly onText: (delta: string) => boolean;
}

export interface Middle {
  readonly finish: FinishReason;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly timings: Omit<CompletionTimings, 'totalMs'>;
}

/** Writes the text between prefix and suffix. An abort resolves with 'cancelled'. Throws EngineError. */
export type WriteMiddle = (text: PromptText, options: MiddleOptions) => Promise<Middle>;

/** By a model that runs here. */
export function middleOf(engine: CompletionEngine): WriteMiddle {
  return async (text, { maxTokens, heal, signal, onText }) => {
    const { ids, healedPrefix } = buildPrompt(engine, text, { maxTokens, heal });
    const running = engine.generate({
      ids,
      maxTokens,
      sampling: GREEDY,
      stop: [],
      ...(engine.fim ? { stopIds: engine.fim.stopIds } : {}),
      ...(healedPrefix.length > 0 ? { healedPrefix } : {}),
      ...(signal ? { signal } : {}),
      onText,
    });
    const generated = await unlessCancelled(running);
    return {
      finish: generated?.finishReason ?? 'cancelled',
      promptTokens: ids.length,
      cachedTokens: generated?.cachedTokens ?? 0,
      generatedTokens: generated?.ids.length ?? 0,
      timings: generated?.timings ?? { queueMs: 0, prefillMs: 0, decodeMs: 0 },
    };
  };
}
