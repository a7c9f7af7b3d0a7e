/**
 * Byte-level BPE writes every byte as one printable character, so that a vocabulary is valid text: printable Latin-1
 * stands for itself, the 68 other bytes for U+0100 onward, in order. Introduced by GPT-2.
 */
const isPrintable = (byte: number) =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

export const BYTE_TO_CHAR: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  if (isPrintable(byte)) return String.fromCharCode(byte);
  const rank = Array.from({ length: byte }, (_, lower) => lower).filter(
    (b) => !isPrintable(b),
  ).length;
  return String.fromCharCode(0x100 + rank);
});

const CHAR_TO_BYTE: ReadonlyMap<string, number> = new Map(
  BYTE_TO_CHAR.map((char, byte) => [char, byte]),
);

/** The bytes that a token of a byte-level vocabulary stands for, or null when it holds another character. */
export function alphabetToBytes(token: string): Uint8Array | null {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = CHAR_TO_BYTE.get(token.charAt(i));
    if (byte === undefined) return null;
    bytes[i] = byte;
  }
  return bytes;
}

/** Bytes as a byte-level vocabulary writes them. */
export function bytesToAlphabet(bytes: Uint8Array): string {
  let token = '';
  for (const byte of bytes) token += BYTE_TO_CHAR[byte];
  return token;
}
