/**
 * Text of control tokens in what a user says must pass through a chat template as text. It is replaced by
 * OPEN index CLOSE before rendering and put back where the rendered text is encoded as plain text. The marks are Unicode
 * noncharacters, which no interchanged text has; ones that are there are replaced in the same way.
 */
const OPEN = '\ufdd0';
const CLOSE = '\ufdd1';
const MARKS = [OPEN, CLOSE];
const MARKED = /\ufdd0(\d+)\ufdd1/g;

/** `value` with the control texts in all of its strings replaced; objects and arrays are copied. */
export function protectText<T>(value: T, controls: readonly string[]): T {
  const texts = [...MARKS, ...controls];
  // Longest first, so that a control text inside of another is not taken for it.
  const order = [...texts.keys()].sort((a, b) => (texts[b]?.length ?? 0) - (texts[a]?.length ?? 0));
  const indexOf = new Map(texts.map((text, i) => [text, i]));
  const pattern = new RegExp(order.map((i) => escapeRegExp(texts[i] ?? '')).join('|'), 'g');
  const protect = (text: string) =>
    text.replace(pattern, (found) => `${OPEN}${indexOf.get(found)}${CLOSE}`);
  return mapStrings(value, protect) as T;
}

/** Undoes `protectText` in rendered text; `controls` must be the same list. */
export function restoreText(text: string, controls: readonly string[]): string {
  const texts = [...MARKS, ...controls];
  return text.replace(MARKED, (found, index: string) => texts[Number(index)] ?? found);
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item: unknown) => mapStrings(item, map));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, map)]),
  );
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
