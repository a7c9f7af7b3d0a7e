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

/** Where the tables of a file are kept. */
export interface TablePlace {
  readonly kept: KeptTables;
  /** Differs between files. */
  readonly name: string;
}

/** The vocabulary of a SentencePiece tokenizer, and in which order its pieces merge. */
export interface ScoredTables {
  readonly tokens: TokenTable;
  /** By id; 0 for the highest score. */
  readonly ranks: Int32Array;
  /** Some piece has the mark for a space behind another character. */
  readonly crosses: boolean;
}

/** Change with what the tables hold and how they are laid out; differ between kinds of tables. */
const BPE_VERSION = 1;
const SCORED_VERSION = 1001;
const ALIGNMENT = 4;

/** The name of the tables of a file. `identity`: differs between files, see ModelFile. */
export function tablesName(identity: string): string {
  return createHash('sha256')
    .update(`tables ${BPE_VERSION} ${SCORED_VERSION} ${identity}`)
    .digest('hex');
}

export function keepBpe(kept: KeptTables, name: string, { rest, tokens, merges }: BpeFile): void {
  const { bytes, spans, slots } = tokens.arrays();
  const pairs = merges.arrays();
  keepPieces(kept, name, BPE_VERSION, [rest, bytes, spans, slots, pairs.entries, pairs.slots]);
}

/** Null when nothing of this version was kept. */
export function recallBpe(kept: KeptTables, name: string): BpeFile | null {
  const pieces = recallPieces(kept, name, BPE_VERSION, 6);
  if (pieces === null) return null;
  const [rest, texts, spans, slots, entries, pairSlots] = pieces;
  if (!rest || !texts || !spans || !slots || !entries || !pairSlots) return null;
  return {
    rest,
    tokens: TokenTable.of({ bytes: texts, spans: integers(spans), slots: integers(slots) }),
    merges: new MergeTable({ entries: integers(entries), slots: integers(pairSlots) }),
  };
}

export function keepScored(place: TablePlace, { tokens, ranks, crosses }: ScoredTables): void {
  const { bytes, spans, slots } = tokens.arrays();
  const flags = Int32Array.of(crosses ? 1 : 0);
  keepPieces(place.kept, place.name, SCORED_VERSION, [bytes, spans, slots, ranks, flags]);
}

/** Null when nothing of this version was kept. */
export function recallScored({ kept, name }: TablePlace): ScoredTables | null {
  const pieces = recallPieces(kept, name, SCORED_VERSION, 5);
  if (pieces === null) return null;
  const [texts, spans, slots, ranks, flags] = pieces;
  if (!texts || !spans || !slots || !ranks || !flags) return null;
  return {
    tokens: TokenTable.of({ bytes: texts, spans: integers(spans), slots: integers(slots) }),
    ranks: integers(ranks),
    crosses: integers(flags)[0] === 1,
  };
}

/** The version and the bytes of each piece come first. */
function keepPieces(
  kept: KeptTables,
  name: string,
  version: number,
  pieces: readonly (Uint8Array | Int32Array)[],
): void {
  const header = Int32Array.of(version, ...pieces.map(({ byteLength }) => byteLength));
  const padded = pieces.flatMap(({ buffer, byteOffset, byteLength }) => [
    new Uint8Array(buffer, byteOffset, byteLength),
    new Uint8Array(paddingOf(byteLength)),
  ]);
  kept.keep(name, [new Uint8Array(header.buffer), ...padded]);
}

function recallPieces(
  kept: KeptTables,
  name: string,
  version: number,
  count: number,
): readonly Uint8Array<ArrayBuffer>[] | null {
  const headerBytes = 4 * (1 + count);
  const bytes = kept.recall(name);
  if (bytes === null || bytes.length < headerBytes) return null;
  const { buffer, byteOffset } = bytes;
  const [found, ...lengths] = new Int32Array(buffer, byteOffset, 1 + count);
  if (found !== version) return null;
  let at = headerBytes;
  const pieces = lengths.map((length) => {
    const piece = bytes.subarray(at, at + length);
    at += length + paddingOf(length);
    return piece;
  });
  return at === bytes.length ? pieces : null;
}

const paddingOf = (length: number) => (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT;

function integers({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Int32Array {
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}
