import { createParser } from 'eventsource-parser';
import { EngineError } from '../errors';

/** A server that never ends a line is not let fill the memory. */
const MAX_LINE = 4 * 1024 * 1024;

/**
 * The JSON objects of a stream of server-sent events, until `[DONE]` or its end. Throws EngineError unavailable for what is
 * no JSON and for an error that the server sends in the middle.
 */
export async function* jsonEvents(
  stream: ReadableStream<Uint8Array>,
  address: string,
): AsyncGenerator<unknown> {
  const ready: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(data) });
  const decoder = new TextDecoder();
  let unread = 0;
  for await (const chunk of chunksOf(stream, address)) {
    unread += chunk.length;
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (ready.length > 0) unread = 0;
    else if (unread > MAX_LINE) throw broken(address, 'a line without an end');
    for (const data of ready.splice(0)) {
      if (data === '[DONE]') return;
      yield parsed(data, address);
    }
  }
}

async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  address: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* stream as unknown as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw broken(address, 'the connection broke', cause);
  }
}

function parsed(data: string, address: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    throw broken(address, `got ${JSON.stringify(data.slice(0, 80))}, expected JSON`);
  }
  const { error } = Object(value) as { error?: { message?: unknown } | string | null };
  if (error === undefined || error === null) return value;
  const said = typeof error === 'string' ? error : error.message;
  const message = typeof said === 'string' ? said : JSON.stringify(error);
  throw broken(address, message);
}

function broken(address: string, problem: string, cause?: unknown): EngineError {
  return new EngineError('unavailable', `${address}: ${problem}`, { cause });
}
