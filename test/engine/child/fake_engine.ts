/** An engine child with a model made of a script: what the tests of host and protocol fork. */
import { runChild } from '../../../extension/engine/child/run';
import { heldLocally } from '../../../extension/engine/child/local_engine';
import type { HeldEngine } from '../../../extension/engine/child/holder';
import { EngineError } from '../../../extension/engine/errors';
import type { GenerateRequest, GenerateResult } from '../../../extension/engine/generation/types';
import { loadTokenizer } from '../../../extension/engine/loading/tokenizer';

const sprout = new URL('../../../extension/assets/sprout', import.meta.url).pathname;

/** `modelDir` is the script: what is written, and how. */
runChild(async ({ modelDir }, events): Promise<HeldEngine> => {
  events.onProgress?.(`reading ${modelDir}`);
  if (modelDir.startsWith('broken'))
    throw new EngineError('bad_model', 'broken: no model in this folder');
  const [text = '', msPerCharacter = '0'] = modelDir.split('@');
  const tokenizer = loadTokenizer(sprout);
  return heldLocally({
    info: {
      model: 'fake',
      title: 'Fake model',
      modelDir,
      backend: 'reference',
      backendDescription: 'a script',
      fallbackReason: null,
      contextLength: 2048,
      threads: 1,
      loadMs: 1,
      hasFim: false,
      hasChatTemplate: true,
    },
    tokenizer,
    fim: null,
    chat: {
      knowsTools: false,
      wantsShortIds: false,
      encode: (messages) => tokenizer.encode(messages.map((m) => String(m.content)).join('\n')),
    },
    generationConfig: { sampling: {} },
    checkGrammar: () => undefined,
    metrics: () => null,
    generate: (request) => write(request, text, Number(msPerCharacter)),
    embeddingSize: 1,
    embed: async () => Float32Array.of(1),
    forgetUnwritten: async () => undefined,
    dispose: async () => undefined,
  });
});

async function write(
  { onText, signal, ids }: GenerateRequest,
  text: string,
  msPerCharacter: number,
): Promise<GenerateResult> {
  let written = '';
  for (const char of text) {
    if (char === '!') throw new Error('the script says to fail');
    if (char === '%')
      setImmediate(() => {
        throw new Error('nobody catches this');
      });
    await new Promise((resolve) => setTimeout(resolve, msPerCharacter));
    if (signal?.aborted) break;
    written += char;
    if (onText?.(char) === false) break;
  }
  return {
    text: written,
    ids: [],
    finishReason: signal?.aborted ? 'cancelled' : 'stop',
    promptTokens: ids.length,
    cachedTokens: 0,
    timings: { queueMs: 0, prefillMs: 0, decodeMs: 0 },
  };
}
