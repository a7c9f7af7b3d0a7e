import { createHash } from 'node:crypto';

/** Tokens whose keys and values are in one file; a multiple of every backend's block. 16 MB for a model of 8 billion. */
export const SEGMENT_TOKENS = 128;

/** The name of the recurrent state at the end of the segment with a key. */
export function stateKey(key: string): string {
  return createHash('sha256').update(key).update('state').digest('hex');
}

/**
 * A name for each whole segment of a text. It depends on the model and on all tokens up to the segment's end, as the
 * keys and values do; texts that begin alike share the names of their beginning.
 */
export function segmentKeys(fingerprint: string, tokens: readonly number[]): string[] {
  const keys: string[] = [];
  let before = fingerprint;
  for (let end = SEGMENT_TOKENS; end <= tokens.length; end += SEGMENT_TOKENS) {
    const own = Int32Array.from(tokens.slice(end - SEGMENT_TOKENS, end));
    before = createHash('sha256').update(before).update(own).digest('hex');
    keys.push(before);
  }
  return keys;
}
