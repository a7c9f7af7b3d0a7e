import type { GenerateResult } from '../../generation/types';
import { fimPrompt } from '../../loading/fim';
import type { Call } from '../call';
import { checkPrompt } from '../context';
import type { ServerEngine } from '../engine';
import { badRequest } from '../errors';
import { infillFields, type InfillFields } from '../fields/infill';
import { parseFields } from '../fields/parse';
import { generateAll, type ChoiceRequest } from '../generate';
import { json, streamed } from '../respond';
import { samplingOf } from '../sampling';
import { EventStream } from '../sse';

const DEFAULT_TOKENS = 128;
/** Of the context, for the text after the gap; as the editor's own completions have it. */
const SUFFIX_SHARE = 0.25;
/** Control tokens of the prompt. */
const SPARE_TOKENS = 16;

/** POST /infill, as llama.cpp's server has it: the text between two others, windows of them cut to the context. */
export function infill(call: Call): Promise<Response> {
  const fields = parseFields(infillFields, call.body);
  return call.use(fields.model, async (engine, { id }) => {
    // Only windows of them are used: none is too long.
    const { input_suffix = '', input_prefix = '', prompt = '' } = fields;
    for (const text of [input_suffix, input_prefix + prompt]) await engine.tokenizer.prepare(text);
    const request = infillRequest(engine, fields);
    return call.withRoom(1, () =>
      fields.stream === true ? stream(call, engine, request) : whole(call, engine, request, id),
    );
  });
}

async function whole(
  call: Call,
  engine: ServerEngine,
  request: ChoiceRequest,
  model: string,
): Promise<Response> {
  const [result] = await generateAll(call, engine, [request]);
  return json({ model, content: result?.text ?? '', ...endOf(result) });
}

async function stream(call: Call, engine: ServerEngine, request: ChoiceRequest): Promise<Response> {
  const events = new EventStream(call.response, call.state.timeouts);
  try {
    const [result] = await generateAll(call, engine, [request], {
      onText: ({ text }) => {
        events.send({ content: text, stop: false });
        return true;
      },
    });
    events.send({ content: '', ...endOf(result) });
    events.end();
  } catch (error) {
    events.fail(error);
    throw error;
  }
  return streamed();
}

function endOf(result: GenerateResult | undefined) {
  return {
    stop: true,
    stop_type: result?.finishReason === 'length' ? 'limit' : 'eos',
    tokens_predicted: result?.ids.length ?? 0,
    tokens_evaluated: result?.promptTokens ?? 0,
    tokens_cached: result?.cachedTokens ?? 0,
  };
}

function infillRequest(engine: ServerEngine, fields: InfillFields): ChoiceRequest {
  const { tokenizer, fim, info } = engine;
  if (fim === null) {
    throw badRequest(
      'unsupported_value',
      'model',
      'model: this model cannot fill in; use /v1/completions',
    );
  }
  const wanted =
    fields.n_predict === undefined || fields.n_predict < 1 ? DEFAULT_TOKENS : fields.n_predict;
  const room = info.contextLength - SPARE_TOKENS;
  const maxTokens = Math.min(wanted, Math.floor(room / 2));
  const budget = room - maxTokens;
  const suffix = tokenizer
    .encode(fields.input_suffix ?? '')
    .slice(0, Math.floor(budget * SUFFIX_SHARE));
  const prefix = tokenizer
    .encode((fields.input_prefix ?? '') + (fields.prompt ?? ''))
    .slice(-Math.max(1, budget - suffix.length));
  const extra = extraFiles(engine, fields, budget - suffix.length - prefix.length);
  const ids = [...tokenizer.prefixIds, ...extra, ...fimPrompt(fim, prefix, suffix)];
  checkPrompt(engine, ids, 'input_prefix');
  const [sampling] = samplingOf(fields, engine, 1);
  if (sampling === undefined) throw new Error('no sampling parameters');
  return { ids, maxTokens, sampling, stop: fields.stop, stopIds: fim.stopIds };
}

/** Other files, the last ones first in importance, as far as there is room for whole ones. */
function extraFiles(
  { tokenizer, fim }: ServerEngine,
  { input_extra }: InfillFields,
  room: number,
): number[] {
  const ids: number[] = [];
  for (const { filename, text } of (input_extra ?? []).toReversed()) {
    if (fim?.fileSep === undefined) break;
    const file = [fim.fileSep, ...tokenizer.encode(`${filename ?? 'file'}\n${text}`)];
    if (ids.length + file.length > room) break;
    ids.unshift(...file);
  }
  return ids;
}
