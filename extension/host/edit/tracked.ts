/** A part of a document that keeps its place while the document changes. */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** As in vscode.TextDocumentContentChangeEvent, offsets of before the change. */
export interface Change {
  readonly rangeOffset: number;
  readonly rangeLength: number;
  readonly text: string;
}

/**
 * Where the part is after a change; null when the change reaches over one of its ends. `takesEnds`: what is inserted
 * just at its start or end belongs to it.
 */
export function shifted(span: Span, change: Change, takesEnds: boolean): Span | null {
  const { rangeOffset, rangeLength, text } = change;
  const end = rangeOffset + rangeLength;
  const grown = text.length - rangeLength;
  const isInsertionAt = (offset: number): boolean => rangeLength === 0 && rangeOffset === offset;
  const isTaken = takesEnds && (isInsertionAt(span.start) || isInsertionAt(span.end));
  if (end <= span.start && !isTaken) return { start: span.start + grown, end: span.end + grown };
  if (rangeOffset >= span.end && !isTaken) return span;
  if (rangeOffset < span.start || end > span.end) return null;
  return { start: span.start, end: span.end + grown };
}
