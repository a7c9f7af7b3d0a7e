import hljs from 'highlight.js/lib/common';

/** What comes behind them stays plain: colours are not worth a stall. */
const MAX_CHARS = 60_000;

/** Of the last code that was longer: more of it comes, and its colours stay. */
let longest = { head: '', language: '', lines: [] as readonly string[] };

/** Code as HTML, one string a line, with classes of highlight.js; plain for languages that it does not know. */
export function highlight(code: string, language: string): string[] {
  if (hljs.getLanguage(language) === undefined) return escapeHtml(code).split('\n');
  if (code.length <= MAX_CHARS) return colours(code, language);
  const end = code.lastIndexOf('\n', MAX_CHARS);
  if (end < 0) return escapeHtml(code).split('\n');
  const head = code.slice(0, end);
  if (longest.head !== head || longest.language !== language) {
    longest = { head, language, lines: colours(head, language) };
  }
  return [...longest.lines, ...escapeHtml(code.slice(end + 1)).split('\n')];
}

function colours(code: string, language: string): string[] {
  return splitLines(hljs.highlight(code, { language, ignoreIllegals: true }).value);
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Lines that each stand for themselves: spans that go over a line's end are closed there and opened again. */
function splitLines(html: string): string[] {
  const open: string[] = [];
  return html.split('\n').map((line) => {
    const before = open.join('');
    for (const [tag] of line.matchAll(/<span[^>]*>|<\/span>/g)) {
      if (tag === '</span>') open.pop();
      else open.push(tag);
    }
    return before + line + '</span>'.repeat(open.length);
  });
}
