import { alphabetToBytes, BYTE_TO_CHAR, bytesToAlphabet } from './byte_alphabet';

/** How a BPE vocabulary writes text: what a word's first symbols are, and what bytes a token stands for. */
export interface Alphabet {
  /** The symbols that merging starts from. */
  symbols(word: string): number[];
  /** A whole word as the vocabulary would write it. */
  spell(word: string): string;
  /** The bytes of an ordinary token. */
  bytes(token: string): Uint8Array;
}

/** Ids by text. */
export type Vocabulary = Pick<ReadonlyMap<string, number>, 'get'>;

/** Token texts by id, as the vocabulary writes them. */
export interface TokenTexts {
  /** One more than the highest id. */
  readonly length: number;
  /** Undefined where an id is not used. */
  at(id: number): string | undefined;
}

const UTF8 = new TextEncoder();
/** SentencePiece's mark for a space. */
const SPACE_MARK = /▁/g;
const BYTE_TOKEN = /^<0x([0-9A-F]{2})>$/;

/** GPT-2's alphabet: symbols are bytes. A byte without a token becomes the unknown token, or nothing without one. */
export function byteLevelAlphabet(vocabulary: Vocabulary, unknownId: number | null): Alphabet {
  const ids = BYTE_TO_CHAR.map((char) => vocabulary.get(char) ?? unknownId);
  return {
    symbols: (word) => {
      const symbols: number[] = [];
      for (const byte of UTF8.encode(word)) {
        const id = ids[byte] ?? null;
        if (id !== null) symbols.push(id);
      }
      return symbols;
    },
    spell: (word) => bytesToAlphabet(UTF8.encode(word)),
    bytes: (token) => alphabetToBytes(token) ?? UTF8.encode(token),
  };
}

/** What a character that the vocabulary lacks becomes. */
export interface UnknownCharacters {
  /** One token `<0xNN>` for each of its bytes, when the vocabulary has these. */
  readonly byteFallback: boolean;
  readonly unknownId: number | null;
  /** One unknown token for a run of unknown characters. */
  readonly fuse: boolean;
}

/** SentencePiece's alphabet: symbols are characters, ▁ is a space. */
export function characterAlphabet(vocabulary: Vocabulary, unknown: UnknownCharacters): Alphabet {
  const byteIds = Array.from({ length: 256 }, (_, byte) => vocabulary.get(byteToken(byte)));
  return {
    symbols: (word) => {
      const symbols: number[] = [];
      for (const char of word) {
        const id = vocabulary.get(char);
        if (id !== undefined) symbols.push(id);
        else pushUnknown(symbols, char, byteIds, unknown);
      }
      return symbols;
    },
    spell: (word) => word,
    bytes: (token) => {
      const byte = BYTE_TOKEN.exec(token)?.[1];
      if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
      return UTF8.encode(token.replace(SPACE_MARK, ' '));
    },
  };
}

function pushUnknown(
  symbols: number[],
  char: string,
  byteIds: readonly (number | undefined)[],
  { byteFallback, unknownId, fuse }: UnknownCharacters,
): void {
  const ids = byteFallback ? Array.from(UTF8.encode(char), (byte) => byteIds[byte]) : [undefined];
  const known = ids.filter((id) => id !== undefined);
  if (known.length === ids.length) symbols.push(...known);
  else if (unknownId !== null && !(fuse && symbols.at(-1) === unknownId)) symbols.push(unknownId);
}

function byteToken(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}
