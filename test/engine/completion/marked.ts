import { placeOf } from '../../../extension/engine/completion/place';
import { Shaper, type Shaped } from '../../../extension/engine/completion/shape';
import { lookAround } from '../../../extension/engine/completion/surroundings';
import type { CompletionRequest } from '../../../extension/protocol/completion';

/** The cursor in a test's document. */
export const CURSOR = '▮';

/** A request at the mark in `document`. */
export function requestAt(
  document: string,
  options: Partial<CompletionRequest> = {},
): CompletionRequest {
  const at = document.indexOf(CURSOR);
  if (at < 0) throw new Error(`no ${CURSOR} in ${JSON.stringify(document)}`);
  return {
    path: 'src/file.ts',
    languageId: 'typescript',
    prefix: document.slice(0, at),
    prefixLine: 0,
    suffix: document.slice(at + CURSOR.length),
    eol: '\n',
    tabSize: 2,
    insertSpaces: true,
    multiline: 'auto',
    maxTokens: 128,
    ...options,
  };
}

/** Shapes `generated`, which comes in pieces of `size` characters; `end` is what ends it unless the shaper does. */
export function shapeAt(
  request: CompletionRequest,
  generated: string,
  end: 'model' | 'length' = 'model',
  size = 1,
): Shaped {
  const around = lookAround(request);
  const shaper = new Shaper(around, placeOf(around, request.multiline));
  for (let at = 0; at < generated.length; at += size) {
    if (!shaper.push(generated.slice(at, at + size))) break;
  }
  return shaper.finish(end);
}

/** The document after the suggestion was accepted, with the cursor where it then stands; or the reason for nothing. */
export function accept(
  document: string,
  generated: string,
  options: Partial<CompletionRequest> & { readonly end?: 'model' | 'length' } = {},
): string {
  const { end, ...rest } = options;
  const request = requestAt(document, rest);
  const shaped = shapeAt(request, generated, end);
  if (shaped.reason) return shaped.reason;
  return request.prefix + shaped.text + CURSOR + request.suffix.slice(shaped.replaceAfter);
}
