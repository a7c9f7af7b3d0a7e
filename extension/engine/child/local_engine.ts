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
    countTokens: async (texts) => texts.map((text) => engine.tokenizer.encode(text).length),
    dispose: () => engine.dispose(),
  };
}
