import type { Tokenizer } from '../../loading/tokenizer';
import type { Call } from '../call';
import { badRequest } from '../errors';
import { parseFields } from '../fields/parse';
import { detokenizeFields, tokenizeFields } from '../fields/tokenizer';
import { json } from '../respond';

/** POST /tokenize, as llama.cpp's server has it. */
export function tokenize(call: Call): Promise<Response> {
  const fields = parseFields(tokenizeFields, call.body);
  return call.use(fields.model, async ({ tokenizer }) => {
    const { content, add_special, parse_special, with_pieces } = fields;
    await tokenizer.prepare(content);
    const text =
      parse_special === true ? tokenizer.encodeTemplate(content) : tokenizer.encode(content);
    const ids = add_special === true ? [...tokenizer.prefixIds, ...text] : text;
    const pieces = () => ids.map((id) => ({ id, piece: pieceOf(tokenizer, id) }));
    return json({ tokens: with_pieces === true ? pieces() : ids });
  });
}

/** POST /detokenize */
export function detokenize(call: Call): Promise<Response> {
  const fields = parseFields(detokenizeFields, call.body);
  return call.use(fields.model, async ({ tokenizer }) => {
    const strange = fields.tokens.find((id) => id >= tokenizer.vocabSize);
    if (strange !== undefined) {
      throw badRequest(
        'invalid_value',
        'tokens',
        `tokens: ${strange}; this model has tokens 0 to ${tokenizer.vocabSize - 1}`,
      );
    }
    return json({ content: tokenizer.decode(fields.tokens) });
  });
}

/** A token's text, or its bytes where they are a part of a character. */
function pieceOf(tokenizer: Tokenizer, id: number): string | number[] {
  const bytes = tokenizer.tokenBytes(id);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes];
  }
}
