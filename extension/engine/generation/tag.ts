/**
 * Looks for `tag` in text that still grows.
 * @returns `before`: text that is surely outside the tag; `rest`: what may be its beginning, or, when `found`, what
 * follows it
 */
export function splitAtTag(
  text: string,
  tag: string,
): { readonly before: string; readonly found: boolean; readonly rest: string } {
  const at = text.indexOf(tag);
  if (at >= 0) {
    return { before: text.slice(0, at), found: true, rest: text.slice(at + tag.length) };
  }
  const held = overlap(text, tag);
  return {
    before: text.slice(0, text.length - held),
    found: false,
    rest: text.slice(text.length - held),
  };
}

/** Length of the longest end of `text` that `tag` begins with. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
