/** Long texts in slices that are encoded one by one, with the same tokens as the whole: the cuts lie between words. */

/** A shorter text is encoded in a millisecond or two. */
export const LONG_TEXT = 16_384;
/** Characters of a slice, at least; about as many more until a place for a cut comes. */
const LEAST = 2048;
/** One place of so many is taken, by its text, so that the same text is cut in the same places wherever it stands. */
const ONE_OF = 16;
/** Until any place will do. */
const PATIENCE = 8 * LEAST;
/** Before a space or behind a line's end, with a letter to follow: no splitter's word goes on there. */
const PLACE = /[A-Za-z0-9](?= [A-Za-z])|\S\n(?=[A-Za-z])/g;
/** Characters on both sides of a cut that its proof looks at; longer words are none. */
const AROUND = 64;

/** `words`: how a text is cut into words; it has the last say on whether one ends at a place. */
export function* slicesOf(
  text: string,
  words: (text: string) => readonly string[],
): Generator<string> {
  let start = 0;
  for (const { index, 0: last } of text.matchAll(PLACE)) {
    const cut = index + last.length;
    const length = cut - start;
    if (length < LEAST || (length < PATIENCE && mark(text, cut) % ONE_OF !== 0)) continue;
    if (!isBetweenWords(text, cut, words)) continue;
    yield text.slice(start, cut);
    start = cut;
  }
  if (start < text.length) yield text.slice(start);
}

/** A number of the characters before a place. */
function mark(text: string, place: number): number {
  let hash = 5381;
  for (let at = place - 8; at < place; at++) hash = (33 * hash + text.charCodeAt(at)) % 2 ** 31;
  return hash;
}

function isBetweenWords(
  text: string,
  cut: number,
  words: (text: string) => readonly string[],
): boolean {
  const from = Math.max(0, cut - AROUND);
  let end = from;
  for (const word of words(text.slice(from, cut + AROUND))) {
    end += word.length;
    if (end >= cut) break;
  }
  return end === cut;
}
