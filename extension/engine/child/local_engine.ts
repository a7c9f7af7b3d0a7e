import { chat } from '../chat/chat';
import { complete } from '../completion/complete';
import type { HeldEngine, LocalEngine } from './holder';

/** A model that runs in this process. */
export function heldLocally(engine: LocalEngine): HeldEngine {
  return {
    info: engine.info,
    local: engine,
    complete: (request, options) => complete(engine, request, options),
    chat: (request, options) => chat(engine, request, options),
    countTokens: (texts) => countTokens(engine, texts),
    dispose: () => engine.dispose(),
  };
}

async function countTokens(
  { tokenizer }: LocalEngine,
  texts: readonly string[],
): Promise<readonly number[]> {
  const counts: number[] = [];
  for (const text of texts) {
    await tokenizer.prepare(text);
    counts.push(tokenizer.encode(text).length);
  }
  return counts;
}
