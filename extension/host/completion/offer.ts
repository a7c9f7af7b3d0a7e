import type { Snapshot } from './snapshot';

/** A suggestion for a snapshot: text to insert, and the characters right of the cursor whose place it takes. */
export interface Offer {
  readonly text: string;
  readonly replaceAfter: number;
}

/** How a later snapshot came from an earlier one by typing. */
export interface Typing {
  /** What was inserted at the cursor. */
  readonly typed: string;
  /** Closers that the editor inserted behind the cursor. */
  readonly autoClosed: string;
  /** Characters behind the cursor that were typed over. */
  readonly typedOver: number;
}

/** Pairs that an editor closes by itself while one suggestion is typed. */
const MAX_AUTO_CLOSED = 8;
const CLOSERS = /^[)\]}"'`>]+$/;

/** The typing between two snapshots, or null when there was more, or something else, than typing at the cursor. */
export function typingBetween(from: Snapshot, to: Snapshot): Typing | null {
  if (from.uri !== to.uri || from.languageId !== to.languageId) return null;
  if (from.prefixLine !== to.prefixLine) return null;
  if (!to.prefix.startsWith(from.prefix)) return null;
  const typed = to.prefix.slice(from.prefix.length);
  if (to.suffix === from.suffix) return { typed, autoClosed: '', typedOver: 0 };
  const grown = to.suffix.length - from.suffix.length;
  if (grown > 0 && grown <= MAX_AUTO_CLOSED && typed !== '') {
    const autoClosed = to.suffix.slice(0, grown);
    const same = to.suffix.endsWith(from.suffix);
    return same && CLOSERS.test(autoClosed) ? { typed, autoClosed, typedOver: 0 } : null;
  }
  const typedOver = -grown;
  if (typedOver > 0 && typedOver <= MAX_AUTO_CLOSED && from.suffix.endsWith(to.suffix)) {
    const over = from.suffix.slice(0, typedOver);
    return CLOSERS.test(over) && contains(typed, over)
      ? { typed, autoClosed: '', typedOver }
      : null;
  }
  return null;
}

/** What is left of an offer after the typing; null when the typing left it, or nothing is left. */
export function afterTyping(offer: Offer, { typed, autoClosed, typedOver }: Typing): Offer | null {
  if (!offer.text.startsWith(typed) || offer.text.length === typed.length) return null;
  const text = offer.text.slice(typed.length);
  if (typedOver > offer.replaceAfter) return null;
  if (autoClosed !== '' && !contains(text, autoClosed)) return null;
  return { text, replaceAfter: offer.replaceAfter - typedOver + autoClosed.length };
}

/** True when the characters stand in the text in this order; the editor can then show the rest around them. */
function contains(text: string, characters: string): boolean {
  let at = 0;
  for (const char of characters) {
    at = text.indexOf(char, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
