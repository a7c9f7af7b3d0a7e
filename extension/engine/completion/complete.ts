import type {
  CompletionPartial,
  CompletionRequest,
  CompletionResult,
} from '../../protocol/completion';
import type { CompletionEngine } from './engine';
import { middleOf, type WriteMiddle } from './middle';
import { placeOf } from './place';
import { Shaper, type Shaped } from './shape';
import { lookAround } from './surroundings';

export interface CompleteOptions {
  readonly signal?: AbortSignal;
  /** The suggestion so far, whole; the end may still be cut. */
  readonly onPartial?: (partial: CompletionPartial) => void;
  /** Token healing at the cursor; default on (see `anllm eval --no-heal` for what it brings). */
  readonly heal?: boolean;
}

/** `completeWith` a model that runs here. */
export function complete(
  engine: CompletionEngine,
  request: CompletionRequest,
  options: CompleteOptions = {},
): Promise<CompletionResult> {
  return completeWith(middleOf(engine), request, options);
}

/**
 * What the editor shows at a place of a document: prompt, generation that stops where the suggestion ends, shaping.
 * An abort resolves with the reason 'cancelled'. Throws EngineError bad_request when the context is too small.
 */
export async function completeWith(
  write: WriteMiddle,
  request: CompletionRequest,
  { signal, onPartial, heal = true }: CompleteOptions = {},
): Promise<CompletionResult> {
  const started = performance.now();
  const { path, prefixLine, maxTokens } = request;
  const around = lookAround(request);
  const shaper = new Shaper(around, placeOf(around, request.multiline));
  const { finish, timings, ...counts } = await write(
    { path, prefix: around.promptPrefix, prefixLine, suffix: around.promptSuffix },
    {
      maxTokens,
      heal,
      signal,
      onText: (delta) => {
        const more = shaper.push(delta);
        const partial = shaper.preview();
        if (partial.text !== '') onPartial?.(partial);
        return more;
      },
    },
  );
  const shaped = shaper.finish(finish === 'stop' ? 'model' : finish);
  return {
    ...withEol(shaped, request.eol),
    ...counts,
    timings: { ...timings, totalMs: performance.now() - started },
  };
}

function withEol(shaped: Shaped, eol: CompletionRequest['eol']): Shaped {
  return eol === '\n' ? shaped : { ...shaped, text: shaped.text.replaceAll('\n', eol) };
}
