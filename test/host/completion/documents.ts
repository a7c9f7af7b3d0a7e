import { textAround, type Snapshot } from '../../../extension/host/completion/snapshot';

/** The cursor in a test's document. */
export const CURSOR = '▮';

/** A snapshot at the mark in `document`. */
export function snapshotAt(document: string, uri = 'file:///a.ts'): Snapshot {
  const at = document.indexOf(CURSOR);
  if (at < 0) throw new Error(`no ${CURSOR} in ${JSON.stringify(document)}`);
  const eol = document.includes('\r\n') ? '\r\n' : '\n';
  const lines = (document.slice(0, at) + document.slice(at + 1)).split(eol);
  const before = document.slice(0, at).split(eol);
  const cursor = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
  const view = { lineCount: lines.length, line: (index: number) => lines[index] ?? '' };
  return {
    uri,
    path: 'a.ts',
    languageId: 'typescript',
    ...textAround(view, cursor, null, eol),
    eol,
    tabSize: 2,
    insertSpaces: true,
    cursor,
    selected: null,
  };
}
