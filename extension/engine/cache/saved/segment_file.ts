import { webcrypto } from 'node:crypto';
import { SEGMENT_TOKENS } from './segment_keys';

/**
 * The file of one segment: magic, SHA-256 of all that follows, the segment's key, its tokens as int32, and the keys and
 * values of its blocks, or the recurrent state at its end, in the layout of the backend. Numbers are in the order of this
 * machine's bytes, as the blocks are.
 */
const MAGIC = new TextEncoder().encode('anllmkv1');
const DIGEST_BYTES = 32;
const HEAD_BYTES = MAGIC.length + DIGEST_BYTES;
/** Key and tokens. */
const LABEL_BYTES = DIGEST_BYTES + 4 * SEGMENT_TOKENS;

export interface Segment {
  /** 64 hexadecimal digits. */
  readonly key: string;
  /** SEGMENT_TOKENS of them. */
  readonly tokens: readonly number[];
}

/** The contents of a segment's file. */
export async function encodeSegment(segment: Segment, blocks: Uint8Array): Promise<Uint8Array> {
  const label = labelOf(segment);
  const file = new Uint8Array(segmentFileBytes(blocks.length));
  file.set(MAGIC);
  file.set(label, HEAD_BYTES);
  file.set(blocks, HEAD_BYTES + LABEL_BYTES);
  file.set(await digestOf(file.subarray(HEAD_BYTES)), MAGIC.length);
  return file;
}

/** Bytes of the file of a segment with blocks of so many. */
export function segmentFileBytes(blockBytes: number): number {
  return HEAD_BYTES + LABEL_BYTES + blockBytes;
}

/** The blocks in a file, or null when it is damaged or another segment's. */
export async function decodeSegment(
  segment: Segment,
  file: Uint8Array,
): Promise<Uint8Array | null> {
  const label = labelOf(segment);
  const begins = (bytes: Uint8Array, at: number) =>
    Buffer.compare(bytes, file.subarray(at, at + bytes.length)) === 0;
  if (!begins(MAGIC, 0) || !begins(label, HEAD_BYTES)) return null;
  const digest = await digestOf(file.subarray(HEAD_BYTES));
  return begins(digest, MAGIC.length) ? file.subarray(HEAD_BYTES + LABEL_BYTES) : null;
}

function labelOf({ key, tokens }: Segment): Uint8Array {
  return Buffer.concat([Buffer.from(key, 'hex'), Buffer.from(Int32Array.from(tokens).buffer)]);
}

/** On a thread of the pool, so that a large segment holds nobody up. */
async function digestOf(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await webcrypto.subtle.digest('SHA-256', bytes));
}
