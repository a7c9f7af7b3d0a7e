import { shorten } from '../../generation/embedding';
import { isCancelled } from '../../errors';
import type { Call } from '../call';
import { checkPrompt, readAhead } from '../context';
import type { ServerEngine } from '../engine';
import { badRequest } from '../errors';
import { embeddingFields } from '../fields/embeddings';
import { parseFields } from '../fields/parse';
import { promptParam, type PromptInput } from '../fields/prompt_input';
import { EMBEDDINGS_AT_ONCE, MAX_EMBEDDING_TOKENS } from '../limits';
import { json } from '../respond';

/** POST /v1/embeddings: https://platform.openai.com/docs/api-reference/embeddings */
export function embeddings(call: Call): Promise<Response> {
  const fields = parseFields(embeddingFields, call.body);
  const { input, pooling, dimensions, encoding_format: format } = fields;
  return call.use(fields.model, async (engine, { id }) => {
    const size = dimensionsOf(engine, dimensions);
    for (const [i, item] of input.entries()) {
      if (typeof item === 'string')
        await readAhead(engine, [item], promptParam('input', input.length, i));
    }
    const prompts = input.map((item, i) =>
      idsOf(engine, item, promptParam('input', input.length, i)),
    );
    const tokens = prompts.reduce((sum, ids) => sum + ids.length, 0);
    if (tokens > MAX_EMBEDDING_TOKENS) {
      const words = `input: ${tokens} tokens in all, at most ${MAX_EMBEDDING_TOKENS} a request`;
      throw badRequest('array_above_max_length', 'input', words);
    }
    return call.withRoom(Math.min(prompts.length, EMBEDDINGS_AT_ONCE), async () => {
      const vectors = await embedAll(call, prompts, (ids, signal) =>
        engine.embed({ ids, priority: 'port', signal, ...(pooling && { pooling }) }),
      );
      call.state.metrics.promptTokens.add({}, tokens);
      call.facts.push(`prompt=${tokens}`);
      const data = vectors.map((vector, index) => {
        const short = shorten(vector, size);
        return {
          object: 'embedding',
          index,
          embedding: format === 'base64' ? base64(short) : [...short],
        };
      });
      const usage = { prompt_tokens: tokens, total_tokens: tokens };
      return json({ object: 'list', model: id, data, usage });
    });
  });
}

function dimensionsOf({ embeddingSize }: ServerEngine, wanted: number | undefined): number {
  if (wanted === undefined || wanted <= embeddingSize) return wanted ?? embeddingSize;
  const words = `dimensions: got ${wanted}, this model has ${embeddingSize}`;
  throw badRequest('integer_above_max_value', 'dimensions', words);
}

/** Text is a whole one, with what the tokenizer puts around it; ids are taken as they are. */
function idsOf(engine: ServerEngine, input: PromptInput, param: string): readonly number[] {
  const { tokenizer } = engine;
  if (input === '') throw badRequest('empty_string', param, `${param}: the text is empty`);
  const { prefixIds, suffixIds } = tokenizer;
  const ids =
    typeof input === 'string' ? [...prefixIds, ...tokenizer.encode(input), ...suffixIds] : input;
  checkPrompt(engine, ids, param);
  return ids;
}

/** A few at a time, in their order. When one fails the others are cancelled, and the failure is thrown when all have ended. */
async function embedAll(
  call: Call,
  prompts: readonly (readonly number[])[],
  embed: (ids: readonly number[], signal: AbortSignal) => Promise<Float32Array>,
): Promise<Float32Array[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([call.signal, failed.signal]);
  const vectors: Float32Array[] = [];
  const left = prompts.entries();
  const work = async (): Promise<void> => {
    try {
      for (const [i, ids] of left) vectors[i] = await embed(ids, signal);
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  const workers = Array.from({ length: EMBEDDINGS_AT_ONCE }, work);
  const failures = (await Promise.allSettled(workers)).flatMap((outcome): unknown[] =>
    outcome.status === 'rejected' ? [outcome.reason] : [],
  );
  if (failures.length === 0) return vectors;
  throw failures.find((error) => !isCancelled(error)) ?? failures[0];
}

/** As the official clients ask for by themselves. */
function base64(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * vector.length));
  for (const [i, x] of vector.entries()) bytes.setFloat32(4 * i, x, true);
  return Buffer.from(bytes.buffer).toString('base64');
}
