import { createHash } from 'node:crypto';
import type { BpeFile } from './bpe_file';
import { MergeTable } from './merge_table';
import { TokenTable } from './token_table';

/** Where tables that were made of a large file are kept for the next time. */
export interface KeptTables {
  /** What was kept under this name, whole and unchanged, at a multiple of 4 in memory; else null. */
  recall(name: string): Uint8Array<ArrayBuffer> | null;
  /** Failing is no error: the tables can be made again. */
  keep(name: string, pieces: readonly Uint8Array[]): void;
}

/** Changes with what the tables hold and how they are laid out. */
const VERSION = 1;
/** What is before the pieces: VERSION and the bytes of each. */
const PIECES = 6;
const HEADER_BYTES = 4 * (1 + PIECES);
const ALIGNMENT = 4;

/** The name of the tables of a file. `identity`: differs between files, see ModelFile. */
export function tablesName(identity: string): string {
  return createHash('sha256').update(`bpe ${VERSION} ${identity}`).digest('hex');
}

export function keepBpe(kept: KeptTables, name: string, { rest, tokens, merges }: BpeFile): void {
  const { bytes, spans, slots } = tokens.arrays();
  const pairs = merges.arrays();
  const pieces = [rest, bytes, spans, slots, pairs.entries, pairs.slots].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  );
  const header = Int32Array.of(VERSION, ...pieces.map(({ length }) => length));
  const padded = pieces.flatMap((piece) => [piece, new Uint8Array(paddingOf(piece.length))]);
  kept.keep(name, [new Uint8Array(header.buffer), ...padded]);
}

/** Null when nothing of this version was kept. */
export function recallBpe(kept: KeptTables, name: string): BpeFile | null {
  const bytes = kept.recall(name);
  if (bytes === null || bytes.length < HEADER_BYTES) return null;
  const { buffer, byteOffset } = bytes;
  const [version, ...lengths] = new Int32Array(buffer, byteOffset, 1 + PIECES);
  if (version !== VERSION) return null;
  let at = HEADER_BYTES;
  const [rest, texts, spans, slots, entries, pairSlots] = lengths.map((length) => {
    const piece = bytes.subarray(at, at + length);
    at += length + paddingOf(length);
    return piece;
  });
  if (!rest || !texts || !spans || !slots || !entries || !pairSlots || at !== bytes.length) {
    return null;
  }
  return {
    rest,
    tokens: TokenTable.of({ bytes: texts, spans: integers(spans), slots: integers(slots) }),
    merges: new MergeTable({ entries: integers(entries), slots: integers(pairSlots) }),
  };
}

const paddingOf = (length: number) => (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT;

function integers({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Int32Array {
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}
