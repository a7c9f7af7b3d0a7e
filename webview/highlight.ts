import hljs from 'highlight.js/lib/common';

/** Longer code stays plain: colours are not worth a stall. */
const MAX_CHARS = 60_000;

/** Code as HTML, one string a line, with classes of highlight.js; plain for languages that it does not know. */
export function highlight(code: string, language: string): string[] {
  const isKnown = hljs.getLanguage(language) !== undefined && code.length <= MAX_CHARS;
  const html = isKnown
    ? hljs.highlight(code, { language, ignoreIllegals: true }).value
    : escapeHtml(code);
  return splitLines(html);
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
