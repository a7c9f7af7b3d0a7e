/** A vocabulary of all bytes, some longer tokens, an end and a control token: for grammars without a model. */
import type { Tokenizer } from '../../../../extension/engine/loading/tokenizer';
import type { Grammars } from '../../../../extension/engine/generation/constrain/grammars';
import type { Grammar } from '../../../../extension/engine/generation/constrain/constraint';
import { Random } from '../scheduler/random';

const WORDS = ['{"', '":', '", "', 'true', 'false', 'null', '12', 'ab', '"}', ']}', 'é', ' \n'];
const TOKENS: readonly Uint8Array[] = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...WORDS.map((word) => new TextEncoder().encode(word)),
];
export const EOS = TOKENS.length;
const CONTROL = EOS + 1;
export const VOCAB_SIZE = CONTROL + 1;

export const byteTokenizer: Tokenizer = {
  vocabSize: VOCAB_SIZE,
  prefixIds: [],
  suffixIds: [],
  eosId: EOS,
  controlTexts: [],
  prepare: async () => undefined,
  leastTokens: () => 0,
  encode: (text) => [...new TextEncoder().encode(text)],
  encodeTemplate: (text) => [...new TextEncoder().encode(text)],
  decode: (ids) => Buffer.concat(ids.map((id) => TOKENS[id] ?? new Uint8Array())).toString(),
  tokenBytes: (id) => TOKENS[id] ?? new Uint8Array(),
  specialId: () => null,
  isSpecial: (id) => id >= EOS,
};

/** A text of the grammar by a model that knows nothing; null when it has no end after `most` tokens. */
export function randomText(
  grammars: Grammars,
  grammar: Grammar,
  seed: number,
  most = 4000,
): string | null {
  const random = new Random(seed);
  const constraint = grammars.begin(grammar);
  const ids: number[] = [];
  while (ids.length < most) {
    const logits = Float32Array.from({ length: VOCAB_SIZE }, () => random.int(0, 1e6));
    constraint.mask(logits);
    const id = logits.indexOf(Math.max(...logits));
    if (id === EOS) return byteTokenizer.decode(ids);
    ids.push(id);
    constraint.accept(id);
    if (constraint.isComplete) return byteTokenizer.decode(ids);
  }
  return null;
}
