/** More than a long identifier; beyond it the boundary is as good as any. */
const MAX_HEALED = 48;

/**
 * The end of a prompt whose tokens may still change with what is typed next, by the word splitting that byte-level
 * BPE tokenizers share: letters, with the blank or the single punctuation character before them; a run of punctuation,
 * with the blank before it; and blanks at the end of the text. Digits stand alone and never change. A line break is a
 * good boundary: more blank lines are seldom what comes.
 */
const UNSTABLE_END =
  /(?:(?:[^\S\r\n]|(?<![^\r\n\p{L}\p{N}])[^\s\p{L}\p{N}])?\p{L}[\p{L}\p{M}]*| ?[^\s\p{L}\p{N}]+|[^\S\r\n]+)$/u;

/** Splits a prompt into the part that is tokenized as it stands and the bytes that the first tokens must spell. */
export function splitForHealing(prefix: string): { stable: string; healed: string } {
  const tail = prefix.slice(-MAX_HEALED);
  const unstable = UNSTABLE_END.exec(tail)?.[0] ?? '';
  // A run that fills the whole window has no boundary in it.
  const healed = unstable.length < tail.length || tail.length === prefix.length ? unstable : '';
  return { stable: prefix.slice(0, prefix.length - healed.length), healed };
}
