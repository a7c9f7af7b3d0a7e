import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors';
import { bodyTooLarge } from './front_door';
import { MAX_BODY_BYTES, MAX_JSON_DEPTH } from './limits';

/** Reads a request's body as JSON. Throws an ApiError; 413 leaves the rest of the body unread. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  return parseJson(await readBytes(request));
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) {
        request.pause();
        reject(bodyTooLarge());
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(invalid('the connection was closed within the body')));
  });
}

/** UTF-8 JSON of limited depth. Never quotes the body: it may be private, and messages are logged. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw invalid('the body is empty; expected a JSON object');
  if (depthOf(bytes, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    throw invalid(`the body is nested more than ${MAX_JSON_DEPTH} levels deep`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw invalid('the body is not UTF-8', cause);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const position = /position \d+/.exec(cause instanceof Error ? cause.message : '')?.[0];
    throw invalid(
      `the body is not JSON${position === undefined ? '' : ` (at ${position})`}`,
      cause,
    );
  }
}

/** Levels of brackets outside of strings; stops counting above `limit`. JSON.parse itself takes millions. */
export function depthOf(bytes: Uint8Array, limit: number): number {
  const [QUOTE, BACKSLASH, BRACE, BRACKET, BRACE_END, BRACKET_END] = [34, 92, 123, 91, 125, 93];
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === BRACE || byte === BRACKET) {
      deepest = Math.max(deepest, ++depth);
      if (deepest > limit) return deepest;
    } else if (byte === BRACE_END || byte === BRACKET_END) depth--;
  }
  return deepest;
}

function invalid(message: string, cause?: unknown): ApiError {
  return new ApiError(400, 'invalid_json', message, { cause });
}
